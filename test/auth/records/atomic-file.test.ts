import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { replaceFile } from '../../../src/auth/records/atomic-file.ts'
import type { RecordFs } from '../../../src/auth/records/record-fs.ts'

const nameOf = (path: unknown): string => basename(String(path)).replace(/\.\d+-[\da-f]+\.tmp$/, '.tmp')

/** The real file system, and what is asked of it, in order. */
function watchedFs(): { readonly fs: RecordFs; readonly calls: readonly string[] } {
  const calls: string[] = []
  const fs: RecordFs = {
    ...nodeFs,
    async open(path, flags, mode) {
      calls.push(`open ${nameOf(path)}`)
      const file = await nodeFs.open(path, flags, mode)
      for (const name of ['writeFile', 'chmod', 'sync', 'close'] as const) {
        // Each is called with what its own caller gives it.
        const method = file[name].bind(file) as (...given: readonly unknown[]) => Promise<void>
        Object.assign(file, {
          [name]: (...given: readonly unknown[]) => {
            calls.push(`${name} ${nameOf(path)}`)
            return method(...given)
          },
        })
      }
      return file
    },
    rename(from, to) {
      calls.push(`rename ${nameOf(from)} to ${nameOf(to)}`)
      return nodeFs.rename(from, to)
    },
  }
  return { fs, calls }
}

// Windows opens no folders.
test.skipIf(process.platform === 'win32')(
  'a file is on the disk before it gets its name, and the name is there before the write is over',
  async () => {
    const dir = await nodeFs.mkdtemp(join(tmpdir(), 'copilot-proxy-atomic-'))
    onTestFinished(() => nodeFs.rm(dir, { recursive: true }))
    const { fs, calls } = watchedFs()
    await replaceFile(fs, join(dir, 'a.json'), 'text')
    const folder = basename(dir)
    expect(calls).toEqual([
      'open a.json.tmp',
      'writeFile a.json.tmp',
      'sync a.json.tmp',
      'close a.json.tmp',
      'rename a.json.tmp to a.json',
      `open ${folder}`,
      `sync ${folder}`,
      `close ${folder}`,
    ])
    expect(await nodeFs.readFile(join(dir, 'a.json'), 'utf8')).toBe('text')
  },
)
