import { execFileSync } from 'node:child_process'
import { mkdir, open, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { some } from '../thorough.ts'
import { makeFolder } from '../tools/session.ts'
import { attackDaemon } from './attacked-daemon.ts'

// ripgrep reads the ignore files of a folder whole. It must not take much memory or hang, and what it did not search is no "nothing".

vi.setConfig({ testTimeout: 120_000 })

const { signal } = new AbortController()

/** Replaces an ignore file. Each name is one that ripgrep reads. */
const hostile: Readonly<Record<string, (file: string) => Promise<unknown>>> = {
  'a link to an endless device': (file) => symlink('/dev/zero', file),
  'a link to another endless device': (file) => symlink('/dev/urandom', file),
  'a FIFO without a writer': async (file) => execFileSync('mkfifo', [file]),
  'a sparse file of 20 GB': async (file) => {
    const created = await open(file, 'w')
    await created.truncate(20 * 1024 ** 3)
    await created.close()
  },
}
const names = ['.gitignore', 'sub/.ignore', 'sub/.rgignore']
const cases = Object.keys(hostile).flatMap((kind, at) => [[kind, names[at % names.length] ?? ''] as const])

describe.runIf(process.platform === 'linux')('an ignore file that cannot be read', () => {
  test.each(some(cases, 4, 1))('%s as %s takes little memory and hides nothing', async (kind, name) => {
    const root = await makeFolder({ 'a.txt': 'hello\n', 'sub/b.txt': 'hello\n' })
    await hostile[kind]?.(join(root, name))
    const daemon = await attackDaemon(root, await makeFolder({ 'a.txt': 'hello\n' }))
    const session = root.split('/').at(-1)
    for (const [method, params] of [
      ['mcp.search.code', { query: 'hello' }],
      ['mcp.fs.list', {}],
      ['mcp.policy.get', {}],
    ] as const) {
      const { value, worstWaitMs, elapsedMs, childMb, daemonMb } = await daemon.watch(() =>
        daemon.ask(method, { ...params, session }),
      )
      expect(childMb).toBeLessThan(500)
      expect(daemonMb).toBeLessThan(400)
      expect(worstWaitMs).toBeLessThan(5000)
      expect(elapsedMs).toBeLessThan(60_000)
      if (method === 'mcp.policy.get') continue
      expect(value).toSatisfy(isHonest)
    }
  })
})

async function search(root: string, query = 'hello') {
  const { hits, truncated } = await searchCode(await openFolder(root), { query }, signal)
  return { files: hits.map(({ file }) => file), truncated }
}

describe('an ordinary folder', () => {
  test('with ignore files, also nested ones, is searched without what they name', async () => {
    const root = await makeFolder({
      '.gitignore': 'out/\n*.log\n!keep.log\n',
      'a.txt': 'hello',
      'b.log': 'hello',
      'keep.log': 'hello',
      'out/c.txt': 'hello',
      'sub/.ignore': 'd.txt\n',
      'sub/d.txt': 'hello',
      'sub/e.txt': 'hello',
    })
    expect(await search(root)).toEqual({ files: ['a.txt', 'keep.log', 'sub/e.txt'], truncated: false })
    expect(await search(root, 'nothing')).toEqual({ files: [], truncated: false })
  })

  test.each([
    ['with patterns that are broken', '[\n!(\n{a\n'],
    ['that is binary', '\0\u0001\n'],
    ['with 100,000 patterns', Array.from({ length: 100_000 }, (_, at) => `name-${at}.txt\n`).join('')],
  ])('with an ignore file %s is searched to its end', async (_name, text) => {
    const root = await makeFolder({ '.gitignore': text, 'a.txt': 'hello' })
    expect(await search(root)).toEqual({ files: ['a.txt'], truncated: false })
  })

  test('with an ignore file that is a broken link is searched to its end', async () => {
    const root = await makeFolder({ 'a.txt': 'hello' })
    await symlink('/nowhere', join(root, '.gitignore'))
    expect(await search(root)).toEqual({ files: ['a.txt'], truncated: false })
  })

  test.runIf(process.getuid?.() !== 0)(
    'with a folder that cannot be read is truncated, with the other hits',
    async () => {
      const root = await makeFolder({ 'a.txt': 'hello' })
      await mkdir(join(root, 'closed'), { mode: 0 })
      expect(await search(root)).toEqual({ files: ['a.txt'], truncated: true })
      expect(await search(root, 'nothing')).toEqual({ files: [], truncated: true })
      expect(await listFiles(await openFolder(root), {}, signal)).toEqual({ files: ['a.txt'], truncated: true })
    },
  )
})

/** Returns whether an answer has both files, says that something may be missing, or is an error. */
function isHonest(answer: unknown): boolean {
  const text = JSON.stringify(answer)
  return (text.includes('a.txt') && text.includes('b.txt')) || /"truncated":true|"error":\{"code":-32000/.test(text)
}
