import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folderId } from '../../../src/workspace/folder-id.ts'
import type { ConsentRule } from '../../../src/workspace/policy/consent-rules.ts'
import { openConsents } from '../../../src/workspace/policy/consents.ts'
import { makeFolder } from '../../tools/session.ts'

const root = '/home/me/app'
const edit: ConsentRule = { edit: 'a.ts' }
const run: ConsentRule = { run: ['npm', 'test'], in: '' }

async function open() {
  const dataDir = join(await makeFolder(), 'data')
  const path = join(dataDir, folderId(root), 'consents.json')
  return { dataDir, path, consents: openConsents(dataDir, root) }
}

describe('what a person has allowed for good', () => {
  test('is stored for its owner alone, each rule once, and known to other processes at once', async () => {
    const { dataDir, path, consents } = await open()
    const other = openConsents(dataDir, root)
    expect(await consents.read()).toEqual({ rules: [] })
    await Promise.all([consents.add([edit]), other.add([run, edit]), consents.add([run])])
    expect(await other.read()).toEqual({ rules: expect.arrayContaining([edit, run]) })
    expect((await consents.read()).rules).toHaveLength(2)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await openConsents(dataDir, '/home/me/other').read()).toEqual({ rules: [] })
  })

  test('is taken back by rule, or all at once', async () => {
    const { consents } = await open()
    await consents.add([edit, run])
    expect(await consents.forget((rule) => 'edit' in rule)).toEqual([edit])
    expect(await consents.read()).toEqual({ rules: [run] })
    expect(await consents.forget()).toEqual([run])
    expect(await consents.read()).toEqual({ rules: [] })
  })

  test.each([
    ['text that is no JSON', 'edit a.ts'],
    ['a rule of an unknown kind', '{"rules":[{"edit":"a.ts"},{"read":".env"}]}'],
    ['a rule with more than it needs', '{"rules":[{"edit":"a.ts","run":["sh"]}]}'],
    ['a command without words', '{"rules":[{"run":[],"in":""}]}'],
    ['too many rules', JSON.stringify({ rules: Array.from({ length: 1001 }, (_, at) => ({ edit: `${at}` })) })],
  ])('%s grants nothing, says so, and stays for the person', async (_, text) => {
    const { path, consents } = await open()
    await consents.add([edit])
    await writeFile(path, text)
    const problem = `${path} is invalid, so it grants nothing. To begin anew, run: copilot-proxy policy forget --all`
    expect(await consents.read()).toEqual({ rules: [], problem })
    await expect(consents.add([run])).rejects.toThrow(problem)
    await expect(consents.forget(() => true)).rejects.toThrow(problem)
    expect(await readFile(path, 'utf8')).toBe(text)
    await consents.forget()
    await consents.add([run])
    expect(await consents.read()).toEqual({ rules: [run] })
  })

  test.skipIf(process.getuid?.() === 0)('a file that cannot be read grants nothing', async () => {
    const { path, consents } = await open()
    await consents.add([edit])
    await chmod(path, 0)
    expect(await consents.read()).toEqual({ rules: [], problem: expect.stringContaining('grants nothing') })
  })
})
