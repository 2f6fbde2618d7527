import { some } from '../thorough.ts'
import { link, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../http/client.ts'
import { postMessage } from '../http/session-client.ts'
import { makeFolder } from '../tools/session.ts'
import { createPatch, listAll, openRpc, openStdio, patchesOf } from './tool-ways.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

// The program as real processes, in a home folder that is a workspace, under a policy that allows everything.

/** In the place of every secret. Not a credential that a process knows, so redaction cannot be what keeps it back. */
const canary = 'canary_own_Qz7Lk2Vn9Xs4'

const data = '.local/share/copilot-proxy'
const ownFiles = {
  [`${data}/auth/login.json`]: `{ "token": "${canary}" }\n`,
  [`${data}/owner-token`]: `${canary}\n`,
  [`${data}/workspaces/abc/notes.ts`]: `export const ${canary} = 1\n`,
  '.local/state/copilot-proxy/daemon.log': `${canary}\n`,
  '.cache/copilot-proxy/code.js': `function ${canary}() {}\n`,
  '.codex/auth.json': `{ "token": "${canary}" }\n`,
  '.copilot/extensions/tap/.provider-token': `${canary}\n`,
} as const
const configFile = '.config/copilot-proxy/config.yaml'

/** Other names of the login file and of other own files, and what the test creates for them. */
const otherNames = {
  'with ..': `.local/share/../share/copilot-proxy/auth/login.json`,
  'of a link': 'code/link.json',
  'below a link to the folder': 'code/own/auth/login.json',
  'below a link to a link': 'code/again/owner-token',
  'below a link to a folder around it': 'code/share/copilot-proxy/owner-token',
  'of a hard link': 'code/hard.json',
  'in another case': '.LOCAL/Share/copilot-proxy/auth/login.json',
} as const

const names = [...Object.keys(ownFiles), configFile, ...Object.values(otherNames)]

const neighbours = {
  'app.txt': 'honest\n',
  'code/app.ts': 'export const honest = 1\n',
  '.config/other/config.yaml': 'honest: true\n',
  '.local/share/other/notes.md': 'honest\n',
}

interface Home {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly contents: () => Promise<Readonly<Record<string, string>>>
}

async function makeHome(): Promise<Home> {
  const policyPaths = [...names, `${data}/auth/new.json`, 'code/app.ts'].map((name) => `  - ${name}`).join('\n')
  const home = await makeFolder({
    ...ownFiles,
    ...neighbours,
    '.agent-policy.yaml': `reads:\n allow:\n${policyPaths}\nwrites:\n allow:\n  - "**"\n${policyPaths}\n`,
  })
  const own = join(home, data)
  await mkdir(dirname(join(home, configFile)), { recursive: true })
  const config = `# ${canary}\nworkspaces: [{ path: ${home}, allow-home: true }]\nworkspace: { read-only: false }\n`
  await writeFile(join(home, configFile), config)
  await symlink(join(own, 'auth/login.json'), join(home, 'code/link.json'))
  await symlink('../.local/share/copilot-proxy', join(home, 'code/own'))
  await symlink('own', join(home, 'code/again'))
  await symlink('../.local/share', join(home, 'code/share'))
  await link(join(own, 'auth/login.json'), join(home, 'code/hard.json'))
  await confirmPolicies(join(own, 'workspaces'), home)
  return {
    root: home,
    env: { HOME: home, PATH: process.env['PATH'] ?? '' },
    async contents() {
      const found = [...Object.keys(ownFiles), configFile].map(async (name) => {
        return [name, await readFile(join(home, name), 'utf8').catch(() => 'gone')] as const
      })
      const auth = await readdir(join(own, 'auth'))
      return Object.fromEntries([...(await Promise.all(found)), ['auth', auth.join(' ')]])
    },
  }
}

/** Each tool on each file under each name. A refusal, or an answer without the file, are both right; a part of it is not. */
function attacks(): readonly (readonly [title: string, tool: string, args: Readonly<Record<string, unknown>>])[] {
  return [
    ...names.flatMap((path) => {
      const firstLine =
        Object.entries(ownFiles)
          .find(([name]) => name === path)?.[1]
          .trimEnd() ?? `# ${canary}`
      return [
        [`reads ${path}`, 'fs.read', { path }],
        [`lists symbols of ${path}`, 'symbols.list', { path }],
        [`formats ${path}`, 'format.apply', { path }],
        [`organises imports of ${path}`, 'imports.organize', { path }],
        ...Object.entries(patchesOf(path, firstLine)).flatMap(([what, unifiedDiff]) => [
          [`${what}: ${path}`, 'edit.applyPatch', { unifiedDiff }] as const,
          [`${what}, dry run: ${path}`, 'edit.applyPatch', { unifiedDiff, dryRun: true }] as const,
        ]),
      ] as const
    }),
    [
      `creates a file in the folder of logins`,
      'edit.applyPatch',
      { unifiedDiff: createPatch(`${data}/auth/new.json`) },
    ],
  ]
}

const searches = [
  { query: canary },
  { query: 'canary_OWN', caseSensitive: false },
  { query: 'canary_own_[A-Z]z7', regex: true },
  ...names.map((glob) => ({ query: 'canary', glob })),
  { query: 'canary', glob: '**/*.json' },
  { query: 'canary', glob: '.local/**' },
  { query: 'canary', glob: '{.local,.config,code}/**' },
  { query: 'canary', glob: 'code/own/**' },
  { query: 'canary', maxResults: 1 },
]

const lists = [{}, { glob: '**/login.json' }, { glob: `${data}/**` }, { glob: data }, { glob: 'code/own/**' }]

const ways = [
  ['/rpc', openRpc],
  ['copilot-proxy mcp', openStdio],
] as const

describe.each(some(ways, 2, 1))('over %s, in the home folder, under a policy that names the files', (_way, open) => {
  test('no tool reads, lists, searches or changes the program’s own files', { timeout: 300_000 }, async () => {
    const home = await makeHome()
    const { call, close } = await open(home)
    onTestFinished(close)
    const before = await home.contents()
    const allowed: string[] = []
    const leaks: string[] = []
    for (const [title, tool, args] of attacks()) {
      const { isRefused, text } = await call(tool, args)
      if (!isRefused) allowed.push(`${title}: ${text.slice(0, 300)}`)
      // A conflict may repeat what the caller sent, and nothing else.
      if (text.includes(canary) && !JSON.stringify(args).includes(canary)) leaks.push(title)
    }
    expect({ allowed, leaks }).toEqual({ allowed: [], leaks: [] })

    for (const args of searches) {
      const { text } = await call('search.code', args)
      expect(text, JSON.stringify(args)).toMatch(/"hits":\[\],"truncated":false/)
    }
    for (const args of lists) {
      const { text } = await call('fs.list', args)
      expect(text, JSON.stringify(args)).not.toMatch(
        /login\.json|owner-token|provider-token|copilot-proxy|\.codex\/auth/,
      )
    }
    expect(await home.contents()).toEqual(before)
  })

  test('an honest neighbour of these files is read, listed, searched and changed', { timeout: 120_000 }, async () => {
    const home = await makeHome()
    const { call, close } = await open(home)
    onTestFinished(close)
    for (const [path, text] of Object.entries(neighbours)) {
      expect((await call('fs.read', { path })).text).toContain(text.trimEnd())
      expect((await call('search.code', { query: 'honest', glob: path })).text).toContain(`"file":"${path}"`)
    }
    const text = await listAll(call)
    for (const path of Object.keys(neighbours)) expect(text).toContain(`"${path}"`)
    const unifiedDiff =
      '--- a/code/app.ts\n+++ b/code/app.ts\n@@ -1 +1 @@\n-export const honest = 1\n+export const honest = 2\n'
    expect(await call('edit.applyPatch', { unifiedDiff })).toMatchObject({ isRefused: false })
    expect(await readFile(join(home.root, 'code/app.ts'), 'utf8')).toBe('export const honest = 2\n')
    expect(await call('edit.undo', {})).toMatchObject({ isRefused: false })
  })
})

test(
  'a chat and an agent get nothing of these files, and no answer about their runs has any of it',
  { timeout: 240_000 },
  async () => {
    const home = await makeHome()
    const { url, close } = await openRpc(home)
    const client = createClient(url)
    onTestFinished(async () => {
      client.close()
      await close()
    })
    const steps = [
      ...names.map((path) => ({ calls: [{ tool: 'fs_read', args: { path } }] })),
      { calls: [{ tool: 'search_code', args: { query: 'canary' } }] },
      { calls: [{ tool: 'fs_list', args: {} }] },
      { text: 'Done' },
    ]
    for (const mode of ['chat', 'agent']) {
      const posted = await postMessage(client, { text: `Look. [demo:script ${JSON.stringify(steps)}]`, mode })
      expect(posted.status).toBe(202)
      const { id, sessionId } = posted.json() as { id: string; sessionId: string }
      await expect
        .poll(async () => (await client.send(`/runs/${id}`)).text, { timeout: 100_000 })
        .toContain('"state":"ended"')
      const run = await client.send(`/runs/${id}`)
      expect(run.text).toContain('belongs to copilot-proxy')
      const calls = await client.send(`/sessions/${sessionId}/streams/tool-calls`)
      expect(calls.text).toContain('denied')
      for (const { text } of [run, calls]) expect(text).not.toContain(canary)
    }
  },
)
