import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { openConsents } from '../../../src/workspace/policy/consents.ts'
import { openPolicy } from '../../../src/workspace/policy/open-policy.ts'
import { recordingLog } from '../../recording-log.ts'
import { makeFolder } from '../../tools/session.ts'
import { confirmPolicies } from './confirm.ts'

const name = '.agent-policy.yaml'

/** A folder that came with these files. */
async function clone(files: Readonly<Record<string, string>>) {
  const root = await makeFolder(files)
  const dataDir = await makeFolder()
  const folder = await openFolder(root)
  const consents = openConsents(dataDir, folder.root)
  const log = recordingLog()
  return {
    policy: openPolicy(folder, { consents, log }),
    consents,
    log,
    confirm: () => confirmPolicies(dataDir, root),
    put: async (path: string, content: string) => {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    },
  }
}

const text =
  'reads: { allow: [.env.test], deny: [hidden] }\nwrites: { allow: ["src/**", .vscode/tasks.json], deny: [src/gen] }\n' +
  'shell: { allow: [npm test], network: [registry.test] }\n'

const sentence =
  `${name} would allow it, but it came with the folder or has changed, so it allows nothing until you have confirmed it. ` +
  'To read and confirm it, run: copilot-proxy policy trust'

describe('a policy that nobody has confirmed', () => {
  test('allows nothing, and states which command confirms it', async () => {
    const { policy, log } = await clone({ [name]: text })
    const open = {
      isAllowed: false,
      isOpen: true,
      reason: sentence,
      unconfirmed: [{ path: name, text, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    }
    expect(await policy.mayWrite('src/a.ts')).toEqual(open)
    expect(await policy.mayRun(['npm', 'test'])).toEqual(open)
    expect(await policy.mayWrite('.vscode/tasks.json')).toEqual({ isAllowed: false, reason: sentence })
    expect(await (await policy.readRules()).decide('.env.test')).toMatchObject({
      isAllowed: false,
      isSecret: true,
      reason: expect.stringContaining(sentence),
    })
    expect(await policy.describe()).toMatchObject({ unconfirmed: [name] })
    expect(log.lines.filter((line) => JSON.stringify(line).includes('policy trust'))).toHaveLength(1)
  })

  test('denies at once what it denies', async () => {
    const { policy } = await clone({ [name]: text })
    expect(await policy.mayWrite('src/gen/a.ts')).toMatchObject({
      isAllowed: false,
      reason: expect.stringContaining('denies "src/gen"'),
    })
    expect(await policy.mayWrite('src/gen/a.ts')).not.toHaveProperty('isOpen')
    expect(await (await policy.readRules()).decide('hidden/a')).toMatchObject({ isAllowed: false, isSecret: false })
  })

  test('says nothing about itself where it would not allow either', async () => {
    const { policy } = await clone({ [name]: text })
    expect((await policy.mayWrite('other.ts')).reason).not.toContain('policy trust')
    expect((await policy.mayRun(['rm', 'x'])).reason).not.toContain('policy trust')
    const denying = await clone({ [name]: 'writes: { deny: [a] }\n' })
    expect(await denying.policy.describe()).toMatchObject({ unconfirmed: [] })
    expect(denying.log.lines).toEqual([])
  })

  test('counts once it is confirmed, until its text changes, and not for the text of another file', async () => {
    const { policy, confirm, put, consents } = await clone({ [name]: text })
    await confirm()
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isAllowed: true })
    expect(await policy.mayWrite('.vscode/tasks.json')).toMatchObject({ isAllowed: true })
    expect(await policy.mayRun(['npm', 'test'])).toMatchObject({
      isAllowed: true,
      network: { hosts: expect.anything() },
    })
    expect(await (await policy.readRules()).decide('.env.test')).toMatchObject({ isAllowed: true })
    await put(name, `${text}# more\n`)
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isOpen: true, reason: sentence })
    // Who confirms the new text no longer trusts the old one.
    await confirm()
    await put(name, text)
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isOpen: true })
    await confirm()
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isAllowed: true })
    await consents.forget((rule) => 'trust' in rule)
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isOpen: true })
  })

  test('in a folder with a policy of its own, both have to be confirmed', async () => {
    const { policy, confirm, put } = await clone({ [name]: text })
    await confirm()
    await put('src/lib/.agent-policy.yaml', 'writes: { allow: ["*.ts"] }\n')
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isAllowed: true })
    expect(await policy.mayWrite('src/lib/a.ts')).toMatchObject({
      isOpen: true,
      unconfirmed: [{ path: 'src/lib/.agent-policy.yaml' }],
    })
    // Nobody lets a rule of the root hold in a folder by putting a policy there.
    await put('pkg/.agent-policy.yaml', 'writes: { deny: [a] }\n')
    expect(await policy.mayRun(['npm', 'test'], 'pkg')).toMatchObject({
      isOpen: true,
      unconfirmed: [{ path: 'pkg/.agent-policy.yaml' }],
    })
    expect((await policy.unconfirmed()).map(({ path }) => path).toSorted()).toEqual([
      'pkg/.agent-policy.yaml',
      'src/lib/.agent-policy.yaml',
    ])
    await confirm()
    expect(await policy.mayWrite('src/lib/a.ts')).toMatchObject({ isAllowed: true })
    expect(await policy.mayRun(['npm', 'test'], 'pkg')).toMatchObject({ isAllowed: true })
  })
})
