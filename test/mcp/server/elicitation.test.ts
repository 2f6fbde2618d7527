import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ElicitResult, RequestOptions, Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../src/logging/logger.ts'
import { createClientQuestions, type ClientQuestionsDeps } from '../../../src/mcp/server/ask-client.ts'
import { createMcpServer, type McpServerDeps } from '../../../src/mcp/server/create-server.ts'
import type { Intent, Tool } from '../../../src/tools/tool.ts'
import { fakeWorkspaces } from '../../rpc/support.ts'
import { openProxy } from '../../http/harness.ts'
import { makeFolder } from '../../tools/session.ts'
import { some } from '../../thorough.ts'
import { protocols, type ProtocolVersion } from './support.ts'
import { confirmPolicies } from '../../workspace/policy/confirm.ts'

const program = fileURLToPath(new URL('../../../bin/copilot-proxy.cjs', import.meta.url))
const key = 'a-key-of-the-test-with-enough-letters'

/** What the client's person answers. @throws what the client answers as an error */
type Person = (message: string) => unknown

interface Options {
  readonly protocol?: ProtocolVersion
  /** Absent: the client does not declare elicitation. */
  readonly person?: Person
  readonly policy?: string
  readonly readOnly?: string
  /** The bearer of the client; '' for none. */
  readonly bearer?: 'key' | 'owner' | ''
}

type Kind = 'http' | 'stdio'

async function open(kind: Kind, options: Options = {}) {
  const { protocol = '2025-11-25', person, policy = '', readOnly = 'true', bearer = 'key' } = options
  const root = await makeFolder({ 'a.txt': 'one\n', ...(policy !== '' && { '.agent-policy.yaml': policy }) })
  const settings = `workspaces: [{ path: '${root}', name: app }]\nworkspace: { read-only: ${readOnly}, sandbox: off }\n`
  const { transport, log } =
    kind === 'stdio' ? { transport: await overStdio(root, settings), log: [] } : await overHttp(settings, bearer)
  const asked: string[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: person === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: protocol === '2025-11-25' ? 'legacy' : { pin: protocol } },
    },
  )
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a client may answer anything
      return (await person(params.message)) as ElicitResult
    })
  }
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    root,
    client,
    asked,
    call: (name: string, args: Record<string, unknown>, more?: RequestOptions) =>
      client.callTool({ name, arguments: args }, more),
    text: (file = 'a.txt') => readFile(join(root, file), 'utf8'),
    /** Over HTTP only. */
    outcomes: () => log.flatMap(({ message, fields }) => (message === 'tool call' ? [fields['outcome']] : [])),
  }
}

async function overHttp(settings: string, bearer: Options['bearer']) {
  const keys = bearer === 'key' ? `server: { api-keys: [${key}] }\n` : ''
  const { daemon, log } = await openProxy({ file: settings + keys })
  const token = { key, owner: daemon.ownerToken, '': undefined }[bearer ?? 'key']
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${daemon.url}/mcp`), { requestInit: { headers } })
  return { transport, log }
}

async function overStdio(root: string, settings: string): Promise<Transport> {
  const home = await makeFolder({ 'config.yaml': settings })
  await confirmPolicies(join(home, 'workspaces'), root)
  const env = { COPILOT_PROXY_HOME: home, PATH: process.env['PATH'] ?? '', HOME: home }
  return new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp'],
    env,
    cwd: root,
    stderr: 'ignore',
  })
}

const decide =
  (decision: string): Person =>
  () => ({ action: 'accept', content: { decision } })
const patch = { unifiedDiff: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n' }
const create = (file: string) => ({ unifiedDiff: `--- /dev/null\n+++ b/${file}\n@@ -0,0 +1 @@\n+x\n` })
const run = { argv: ['node', '-p', '6 * 7'] }

/** Over stdio each case starts a program, so the second protocol is for a thorough run there. */
const ways = (['http', 'stdio'] as const).flatMap((kind) =>
  (kind === 'http' ? protocols : some(protocols, 2)).map((protocol) => [kind, protocol] as const),
)

describe.each(ways)('over %s with the protocol of %s', (kind, protocol) => {
  test('a client is asked with the diff and the closed gates, and the change is made once', async () => {
    const { call, asked, text } = await open(kind, { protocol, person: decide('once') })
    expect(await call('edit_applyPatch', patch)).toMatchObject({ structuredContent: { ok: true } })
    expect(await text()).toBe('two\n')
    expect(asked).toHaveLength(1)
    const [message = ''] = asked
    expect(message).toContain('Change a.txt?')
    expect(message).toContain('    -one\n    +two')
    expect(message).toContain('This workspace is read-only.')
    expect(message).toContain('.agent-policy.yaml')
    await call('edit_applyPatch', { unifiedDiff: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+six\n' })
    expect(asked).toHaveLength(2)
  })

  test('a command is shown with its exact vector and its folder', async () => {
    const { call, asked } = await open(kind, { protocol, person: decide('once') })
    expect(await call('shell_run', run)).toMatchObject({ structuredContent: { exitCode: 0, stdout: '42\n' } })
    expect(asked[0]).toContain('Run this command?\n    ["node","-p","6 * 7"]\nin the folder of the workspace\n')
  })

  test.each([
    ['refuses', decide('refuse'), 'because the person refused it'],
    ['declines', () => ({ action: 'decline' }), 'because the person refused it'],
    ['cancels', () => ({ action: 'cancel' }), 'and none has answered'],
    ['accepts without a decision', () => ({ action: 'accept' }), 'and none has answered'],
    ['accepts something else', decide('yes'), 'and none has answered'],
  ] as const)('a client that %s gets the refusal with every closed gate', async (_, person, why) => {
    const { call, text } = await open(kind, { protocol, person })
    const result = await call('edit_applyPatch', patch)
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { kind: 'denied' } } })
    const message = JSON.stringify(result.content)
    for (const part of [why, 'This workspace is read-only.', '.agent-policy.yaml']) expect(message).toContain(part)
    expect(await text()).toBe('one\n')
  })

  test('two calls at once get their own answers', async () => {
    const answers = Promise.withResolvers<void>()
    let waiting = 0
    const { call, root } = await open(kind, {
      protocol,
      async person(message) {
        waiting += 1
        if (waiting === 2) answers.resolve()
        await answers.promise
        return { action: 'accept', content: { decision: message.includes('b.txt') ? 'once' : 'refuse' } }
      },
    })
    const results = await Promise.all(['b.txt', 'c.txt'].map((file) => call('edit_applyPatch', create(file))))
    expect(results.map(({ isError = false }) => isError)).toEqual([false, true])
    expect(await readFile(join(root, 'b.txt'), 'utf8')).toBe('x\n')
    await expect(readFile(join(root, 'c.txt'))).rejects.toThrow('ENOENT')
  })

  test.each([
    ['a client without elicitation', {}, 'nobody is asked here'],
    ['what the policy denies', { person: decide('once'), policy: 'writes: { deny: ["**"] }\n' }, 'denies'],
    ['a locked workspace', { person: decide('once'), readOnly: 'locked' }, 'locked'],
  ] as const)('%s is refused without a question', async (_, options, why) => {
    const { call, asked, text } = await open(kind, { protocol, ...options })
    const result = await call('edit_applyPatch', patch)
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { kind: 'denied' } } })
    expect(JSON.stringify(result.content)).toContain(why)
    expect([asked, await text()]).toEqual([[], 'one\n'])
  })

  test('what the policy allows runs without a question', async () => {
    const policy = 'writes: { allow: [a.txt] }\n'
    const { call, asked } = await open(kind, { protocol, policy, readOnly: 'false', person: decide('refuse') })
    expect(await call('edit_applyPatch', patch)).toMatchObject({ structuredContent: { ok: true } })
    expect(asked).toEqual([])
  })

  test('what is shown is what runs: a file that changes meanwhile is not overwritten', async () => {
    const place: { root?: string } = {}
    const opened = await open(kind, {
      protocol,
      async person(message) {
        if (message.includes('-one')) await writeFile(join(place.root ?? '', 'a.txt'), 'one\nmine\n')
        return message.includes('mine') ? { action: 'decline' } : { action: 'accept', content: { decision: 'once' } }
      },
    })
    place.root = opened.root
    const result = await opened.call('edit_applyPatch', patch)
    expect(result.isError).toBe(true)
    expect(await opened.text()).toBe('one\nmine\n')
  })

  test('a secret is read only with the consent of the person', async () => {
    const answers = ['refuse', 'once']
    const { call, asked, root } = await open(kind, { protocol, person: () => decide(answers.shift() ?? '')('') })
    await writeFile(join(root, '.env'), 'TOKEN=1\n')
    expect(await call('fs_read', { path: '.env' })).toMatchObject({ isError: true })
    expect(await call('fs_read', { path: '.env' })).toMatchObject({ structuredContent: { content: 'TOKEN=1\n' } })
    expect(asked[0]).toContain('Let the agent read .env?')
  })
})

describe.each(['http', 'stdio'] as const)('over %s with sessions', (kind) => {
  test('an answer for this session covers the same command and no other one', async () => {
    const { call, asked } = await open(kind, { person: decide('session') })
    for (const argv of [run.argv, run.argv, ['node', '-p', '1']]) await call('shell_run', { argv })
    expect(asked).toHaveLength(2)
  })

  test('a client that fails to answer gets the refusal', async () => {
    const { call, text } = await open(kind, { person: fail })
    expect(JSON.stringify(await call('edit_applyPatch', patch))).toContain('This workspace is read-only.')
    const garbage = await open(kind, { person: () => ({ action: 'perhaps' }) })
    expect(await garbage.call('edit_applyPatch', patch)).toMatchObject({ isError: true })
    expect(await text()).toBe('one\n')
  })

  test('a call that is cancelled at its question changes nothing, whatever is answered later', async () => {
    const asking = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    const { call, text } = await open(kind, {
      person() {
        asking.resolve()
        return late.promise
      },
    })
    const cancelled = new AbortController()
    const result = call('edit_applyPatch', patch, { signal: cancelled.signal })
    await asking.promise
    cancelled.abort()
    await expect(result).rejects.toThrow()
    late.resolve({ action: 'accept', content: { decision: 'once' } })
    expect(await call('fs_read', { path: 'a.txt' })).toMatchObject({ structuredContent: { content: 'one\n' } })
    expect(await text()).toBe('one\n')
  })
})

test.each([
  ['2025-11-25', 'once', ['ok']],
  ['2025-11-25', 'refuse', ['denied']],
  ['2026-07-28', 'once', ['asked', 'ok']],
  ['2026-07-28', 'refuse', ['asked', 'denied']],
] as const)('with %s, the log of a call with the answer "%s" has %j', async (protocol, decision, expected) => {
  const { call, outcomes } = await open('http', { protocol, person: decide(decision) })
  await call('edit_applyPatch', patch)
  expect(outcomes()).toEqual(expected)
})

test.each([
  ['', 0],
  ['key', 1],
  ['owner', 1],
] as const)('over HTTP a caller with the bearer "%s" is asked %i times', async (bearer, times) => {
  const { call, asked, text } = await open('http', { bearer, person: decide('once') })
  const result = await call('edit_applyPatch', patch)
  expect([asked.length, result.isError ?? false, await text()]).toEqual([
    times,
    times === 0,
    times === 0 ? 'one\n' : 'two\n',
  ])
})

test('an answer to another question, or a forged one, opens nothing', async () => {
  const { root, client } = await open('http', { protocol: '2026-07-28', person: () => ({ action: 'cancel' }) })
  const answer = { decision: { action: 'accept', content: { decision: 'once' } } }
  const send = (argv: readonly string[], more: object) =>
    client.request(
      { method: 'tools/call', params: { name: 'shell_run', arguments: { argv }, ...more } },
      { allowInputRequired: true },
    ) as Promise<Record<string, unknown>>
  const first = await send(run.argv, {})
  expect(first).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  const { requestState } = first
  for (const [argv, state] of [
    [['touch', 'evil'], requestState],
    [run.argv, 'forged'],
    [run.argv, undefined],
  ] as const) {
    const again = await send(argv, { inputResponses: answer, ...(state !== undefined && { requestState: state }) })
    expect(again).toMatchObject({ resultType: 'input_required' })
  }
  await expect(readFile(join(root, 'evil'))).rejects.toThrow('ENOENT')
  expect(await send(run.argv, { inputResponses: answer, requestState })).toMatchObject({
    structuredContent: { exitCode: 0 },
  })
})

function fail(): never {
  throw new Error('no window')
}

/** Connects a client in memory to a server whose tool asks for a command. */
async function connect(
  times: NonNullable<McpServerDeps['questionTimes']>,
  person: Person,
  argv = ['x'],
  more: Pick<Intent, 'widening'> = {},
) {
  const { workspaces } = fakeWorkspaces()
  const tool: Tool = {
    name: 'mcp.shell.run',
    description: '',
    parameters: { type: 'object' },
    effect: 'run',
    run: async () => ({}),
  }
  const server = createMcpServer({
    tools: {
      ...workspaces.tools,
      list: () => [tool],
      async call({ approve, signal }) {
        const circumstances = {
          closed: ['Gate.'],
          signal,
          redact: (text: string) => text.replaceAll('hunter2', '[redacted]'),
        }
        return { isAllowed: (await approve?.({ argv, cwd: 'lib', ...more }, tool, circumstances)) ?? false }
      },
    },
    session: () => {
      const [session] = workspaces.sessions()
      if (session === undefined) throw new Error('no session')
      return session
    },
    caller: 'mcp:test',
    mayDecide: true,
    stateKey: new Uint8Array(32),
    questionTimes: times,
    admit: async () => {},
    load: { inProgress: 0 },
    version: '1',
    log: silentLog,
  })
  const [near, far] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 't', version: '1' }, { capabilities: { elicitation: {} } })
  const asked: string[] = []
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a client may answer anything
    return (await person(params.message)) as ElicitResult
  })
  await Promise.all([server.connect(far), client.connect(near)])
  onTestFinished(() => client.close())
  return { client, asked, call: (options?: RequestOptions) => client.callTool({ name: 'shell_run' }, options) }
}

describe('a question', () => {
  test('keeps the call of the client alive while it waits', async () => {
    const reports: string[] = []
    const enough = Promise.withResolvers<void>()
    const { call } = await connect({ progressMs: 5 }, async () => {
      await enough.promise
      return { action: 'accept', content: { decision: 'once' } }
    })
    const result = await call({
      onprogress({ message = '' }) {
        reports.push(message)
        if (reports.length === 3) enough.resolve()
      },
    })
    expect(result).toMatchObject({ structuredContent: { isAllowed: true } })
    expect(reports[0]).toBe('Waiting for the answer of a person.')
  })

  test('ends at its limit with the refusal', async () => {
    const { call } = await connect({ limitMs: 20 }, () => new Promise(() => {}))
    expect(JSON.stringify(await call())).toContain('none has answered. Gate.')
  })

  test('shows hidden characters, and no credentials', async () => {
    const { call, asked } = await connect({}, decide('once'), ['echo', 'a\u202Eb', 'hunter2', 'x\ny'])
    await call()
    expect(asked[0]).toContain(String.raw`["echo","a\u202eb","[redacted]","x\ny"]` + '\nin the folder "lib"\n')
  })

  test('that is too long to be shown whole is not asked', async () => {
    const { call, asked } = await connect({}, decide('once'), ['echo', 'x'.repeat(70_000)])
    expect(JSON.stringify(await call())).toContain('none has answered. Gate.')
    expect(asked).toEqual([])
  })
})

test('who does not let a command leave the sandbox still gets its result', async () => {
  const { call, asked } = await connect({}, decide('refuse'), ['npm', 'i'], { widening: 'network' })
  expect(await call()).toMatchObject({ structuredContent: { isAllowed: false } })
  expect(asked[0]).toContain('again with network?')
})

describe('an answer that comes with a new call', () => {
  /** Asks in one call and answers in the next one, which may differ. Returns whether that one is allowed. */
  async function answerLater(first: Asked, second: Asked): Promise<boolean | undefined> {
    let state: string | undefined
    const ask = async ({ argv, args, identity }: Asked) => {
      const mcpReq = {
        requestState: () => state,
        inputResponses: { decision: { action: 'accept', content: { decision: 'once' } } },
      }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a stand-in with the members that are called
      const context = { mcpReq } as unknown as Parameters<typeof questions.open>[0]
      const call = questions.open(context, undefined)
      const tool = { name: 'mcp.hub.add', ...(identity !== undefined && { identity, provider: 'hub' }) }
      const intent = argv === undefined ? { args } : { argv, cwd: '' }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
      const asking = call?.approve(intent, tool as Tool, {
        closed: identity === undefined ? ['Gate.'] : [],
        signal: new AbortController().signal,
        redact: (text) => text.replaceAll(/hunter\d/g, '[redacted]'),
      })
      const isAllowed = await asking?.catch(() => false)
      state = call?.pending()?.requestState
      return isAllowed
    }
    const server = {
      getNegotiatedProtocolVersion: () => '2026-07-28',
      getClientCapabilities: () => ({ elicitation: {} }),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
    } as unknown as ClientQuestionsDeps['server']
    const questions = createClientQuestions({ server, scope: [], workspace: 'app', stateKey: new Uint8Array(32) })
    expect(await ask(first)).toBe(false)
    return ask(second)
  }

  interface Asked {
    readonly argv?: readonly string[]
    readonly args?: unknown
    readonly identity?: string
  }

  test.each<[string, Asked, Asked, boolean]>([
    ['the same command', { argv: ['x', 'hunter2'] }, { argv: ['x', 'hunter2'] }, true],
    ['another command that looks the same', { argv: ['x', 'hunter2'] }, { argv: ['x', 'hunter3'] }, false],
    ['the same tool', { args: {}, identity: 'a' }, { args: {}, identity: 'a' }, true],
    [
      'a tool of the same name that another program has now',
      { args: {}, identity: 'a' },
      { args: {}, identity: 'b' },
      false,
    ],
  ])('for %s: %j, then %j', async (_, first, second, isAllowed) => {
    expect(await answerLater(first, second)).toBe(isAllowed)
  })
})
