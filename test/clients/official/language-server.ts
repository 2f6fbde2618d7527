import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isObject } from '../../../src/json/json.ts'
import type { CopilotUpstream } from '../../upstreams/copilot.ts'
import { baseEnvironment } from '../place.ts'
import type { Place } from '../client.ts'

type Json = Readonly<Record<string, unknown>>

export interface LanguageServer {
  /** Asks in a new conversation. Returns what the model has said in all its rounds, and the server's error, if any. */
  readonly converse: (ask: {
    readonly model: string
    readonly mode: 'Ask' | 'Agent'
    readonly prompt: string
  }) => Promise<string>
  readonly kill: () => void
}

/** The one tool that the editor offers. Its schema is as awkward as the server lets it be. */
const awkward = {
  name: 'awkward',
  description: 'An awkward tool',
  inputSchema: {
    type: 'object',
    properties: { list: { type: 'array', description: 'rows', items: { type: 'string' } } },
    required: ['list'],
  },
}

/** Starts GitHub's language server as an editor does, logged in by a token of the environment. */
export async function startLanguageServer(place: Place, demo: CopilotUpstream): Promise<LanguageServer> {
  const child = spawn(join(import.meta.dirname, 'node_modules/.bin/copilot-language-server'), ['--stdio'], {
    cwd: place.workspace,
    env: {
      ...baseEnvironment(place),
      GITHUB_COPILOT_TOKEN: demo.tokens.issueGithub('ghu_'),
      GITHUB_COPILOT_API_URL: demo.url,
      GITHUB_COPILOT_SERVER_URL: demo.url,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const waiting = new Map<unknown, (reply: Json) => void>()
  const said = new Map<unknown, { text: string; ended: (text: string) => void }>()
  let requests = 0

  const write = (message: Json): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const request = async (method: string, params: unknown): Promise<Json> => {
    requests += 1
    const { promise, resolve } = Promise.withResolvers<Json>()
    waiting.set(requests, resolve)
    write({ id: requests, method, params })
    return await promise
  }
  const receive = (message: Json): void => {
    const { id, method, params } = message
    if (typeof method !== 'string') {
      waiting.get(id)?.(message)
      waiting.delete(id)
      return
    }
    if (id !== undefined) write({ id, result: answerTo(method, params) })
    const { token, value } = isObject(params) ? params : {}
    const conversation = method === '$/progress' ? said.get(token) : undefined
    if (conversation === undefined || !isObject(value)) return
    conversation.text += wordsOf(value)
    if (value['kind'] === 'end') conversation.ended(conversation.text)
  }

  let received = Buffer.alloc(0)
  child.stdout.on('data', (piece: Buffer) => {
    received = Buffer.concat([received, piece])
    for (;;) {
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/Content-Length: (\d+)/i.exec(received.subarray(0, head).toString())?.[1])
      const end = head + 4 + length
      if (received.length < end) return
      const message: unknown = JSON.parse(received.subarray(head + 4, end).toString())
      received = received.subarray(end)
      if (isObject(message)) receive(message)
    }
  })

  await request('initialize', {
    processId: process.pid,
    capabilities: { workspace: { configuration: true } },
    rootUri: null,
    initializationOptions: {
      editorInfo: { name: 'Neovim', version: '0.11.0' },
      editorPluginInfo: { name: 'copilot.lua', version: '1.0.0' },
      copilotCapabilities: {},
    },
  })
  write({ method: 'initialized', params: {} })
  write({ method: 'workspace/didChangeConfiguration', params: { settings: {} } })
  await request('checkStatus', {})
  await request('conversation/registerTools', { tools: [awkward] })

  return {
    converse: async ({ model, mode, prompt }) => {
      const workDoneToken = `work-${requests}`
      const { promise, resolve } = Promise.withResolvers<string>()
      said.set(workDoneToken, { text: '', ended: resolve })
      await request('conversation/create', {
        workDoneToken,
        turns: [{ request: prompt }],
        capabilities: { skills: [], allSkills: false },
        source: 'panel',
        chatMode: mode,
        needToolCallConfirmation: false,
        model,
      })
      return await promise
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The editor's answers to the server: no setting is set, and its tool always works. */
function answerTo(method: string, params: unknown): unknown {
  if (method === 'workspace/configuration') {
    const items = isObject(params) ? params['items'] : undefined
    return Array.isArray(items) ? items.map(() => null) : []
  }
  if (method === 'conversation/invokeClientTool') {
    return [{ status: 'success', content: [{ value: 'the odd result' }] }, null]
  }
  return method === 'conversation/invokeClientToolConfirmation' ? [{ result: 'accept' }, null] : null
}

/** The text of a progress report: `reply` in Ask, one text for each round in Agent. */
function wordsOf({ reply, editAgentRounds: rounds }: Json): string {
  const replies = [reply, ...(Array.isArray(rounds) ? rounds.map((each: unknown) => Object(each)['reply']) : [])]
  return replies.filter((each): each is string => typeof each === 'string').join('')
}
