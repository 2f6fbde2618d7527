import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChangeList, UndoReport } from '../../../src/api/changes.ts'
import { makeFolder } from '../../tools/session.ts'
import { openProxy } from '../harness.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'

export const keys = { alice: 'key-of-alice-0123456789', bob: 'key-of-bob-0123456789' }
const keyLines = Object.entries(keys).map(([name, key]) => `${name}:sha256:${hash('sha256', key)}`)
export const policy = 'writes: { allow: ["**"] }\n'

export const patchOf = (name: string, before: string, after: string): string =>
  `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${before}\n+${after}\n`
export const fileOf = (name: string, text: string): string => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${text}\n`

const as = (token: string | undefined) => (token === undefined ? {} : { authorization: `Bearer ${token}` })

interface Options {
  readonly apiKeys?: readonly string[]
  readonly readOnly?: boolean | 'locked'
}

/** Opens a daemon with a workspace whose files agents change. */
export async function openChanges({ apiKeys = keyLines, readOnly = false }: Options = {}) {
  const root = await makeFolder({ 'a.txt': 'one\n', 'b.txt': 'one\n', '.agent-policy.yaml': policy })
  const config = (mode: boolean | 'locked') =>
    JSON.stringify({
      server: { 'api-keys': apiKeys },
      workspaces: [{ path: root, name: 'app' }],
      workspace: { 'read-only': mode },
      agent: { 'require-approval': false },
    })
  const proxy = await openProxy({ file: config(readOnly) })
  const { ownerToken } = proxy.daemon

  async function send<Body>(token: string | undefined, path: string, body?: object): Promise<[number, Body]> {
    const reply = await proxy.send(path, { headers: as(token), ...(body && { body: JSON.stringify(body) }) })
    return [reply.status, reply.json() as Body]
  }

  return {
    proxy,
    root,
    ownerToken,
    send,
    undo: (token: string | undefined, path: string, body = {}) => send<UndoReport>(token, path, body),
    list: async (token = ownerToken, query = '') => (await send<ChangeList>(token, `/sessions/app/changes${query}`))[1],
    textOf: (name: string) => readFile(join(root, name), 'utf8').catch(() => undefined),
    reconfigure: (mode: boolean | 'locked') => proxy.daemon.reconfigure(proxy.configure(config(mode))),
    /** Lets the agent of a caller apply these patches in one run. Returns its id. */
    async run(token: string | undefined, ...patches: readonly string[]): Promise<string> {
      return this.say(token, {}, ...patches)
    },
    /** @param more members of the message */
    async say(token: string | undefined, more: object, ...patches: readonly string[]): Promise<string> {
      const listener = await listen(proxy, '/events', as(token))
      const script = [
        ...patches.map((unifiedDiff) => ({ calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff } }] })),
        { text: 'Done.' },
      ]
      const text = `Change it. [demo:script ${JSON.stringify(script)}]`
      const sent = await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini', ...more }, as(token))
      const { id } = sent.json() as { id: string }
      await eventsUntil(listener, 'done', ({ data }) => data['id'] === id)
      listener.leave()
      return id
    },
  }
}
