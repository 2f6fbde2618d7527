import { streamReply } from '../upstreams/http/outcome.ts'
import { isObject, objectsOf, parseObject, objectOf } from '../../src/json/json.ts'
import type { JsonObject } from '../../src/json/json.ts'
import { dataOf } from './client.ts'
import type { Proxy } from './harness.ts'

// Requests with `safeguards`, as Claude Code sends them in auto mode, and what comes of them.

/** A model of another route than the classifier, so that `/v1/messages` has its requests alone. */
export const gpt = 'gpt-4.1'

const tools = ['Bash', 'Write', 'Read', 'Edit', 'WebFetch', 'mcp__mail__send'].map((name) => ({
  name,
  input_schema: { type: 'object', properties: {} },
}))

/** The context of a session, with a path that no log may show. */
function contextWith(change: JsonObject = {}): JsonObject {
  return {
    v: 1,
    permission_mode: 'auto',
    live_cwd: '/home/hidden-name/project',
    home_dir: '/home/hidden-name',
    rule_roots: { userSettings: '/home/hidden-name/.claude', projectSettings: '/home/hidden-name/project' },
    rules: { allow: [], deny: [], ask: [] },
    auto_mode: {
      allow: ['$defaults'],
      soft_deny: ['$defaults', 'Never touch the zoo'],
      hard_deny: [],
      environment: [],
    },
    ...change,
  }
}

function safeguardsWith(change: JsonObject = {}): readonly JsonObject[] {
  return [{ type: 'dangerous_tool_use', classifier_context: contextWith(change) }]
}

export interface Asked {
  readonly model?: string
  readonly stream?: boolean
  readonly context?: JsonObject
  readonly messages?: readonly JsonObject[]
  readonly more?: JsonObject
}

export function bodyOf(
  prompt: string,
  { model = gpt, stream = false, context, messages = [], more }: Asked = {},
): string {
  return JSON.stringify({
    model,
    max_tokens: 1000,
    stream,
    safeguards: safeguardsWith(context),
    tools,
    messages: [...messages, { role: 'user', content: prompt }],
    ...more,
  })
}

export const headers = { 'anthropic-beta': 'dangerous-tool-use-2026-09-03,afk-mode-2026-01-31' }

export function call(name: string, input: JsonObject): string {
  return `[demo:tool ${name} ${JSON.stringify(input)}]`
}

export const bash = (command: string) => call('Bash', { command })

/** The verdicts of a whole or streamed answer, in the order of its calls; undefined for a call without one. */
export function verdictsIn(text: string): readonly unknown[] {
  const { results, ids } = resultsIn(text)
  const [only, ...more] = objectsOf(results)
  if (only === undefined || more.length > 0 || only['type'] !== 'dangerous_tool_use')
    throw new Error(`no results: ${text}`)
  const status = isObject(only['status']) ? only['status'] : {}
  if (status['type'] !== 'available' || !isObject(status['tool_uses'])) throw new Error(`no verdicts: ${text}`)
  const verdicts = status['tool_uses']
  if (Object.keys(verdicts).some((id) => !ids.includes(id))) throw new Error(`a verdict on no call: ${text}`)
  return ids.map((id) => verdicts[id])
}

function resultsIn(text: string): { readonly results: unknown; readonly ids: readonly string[] } {
  if (text.startsWith('{')) {
    const body = parseObject(text)
    return { results: body?.['safeguard_results'], ids: idsIn(objectsOf(body?.['content'])) }
  }
  const events = dataOf(text).map((data) => parseObject(data) ?? {})
  const deltas = events.filter(({ type }) => type === 'message_delta').map(({ delta }) => objectOf(delta))
  const results = deltas.flatMap((delta) => delta['safeguard_results'] ?? [])
  const blocks = events.map(({ content_block: block }) => block)
  return { results, ids: idsIn(objectsOf(blocks)) }
}

function idsIn(blocks: readonly JsonObject[]): readonly string[] {
  return blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => String(id))
}

/** The bodies of the classifier's requests. */
export function checksOf({ demo }: Pick<Proxy, 'demo'>) {
  return demo.log
    .filter(({ route, body }) => route === '/v1/messages' && body.includes('"report_verdicts"'))
    .map(({ body }) => JSON.parse(body))
}

/** The sections of a classifier's prompt, as lines. */
export function promptOf(check: { readonly messages: readonly { readonly content: unknown }[] } | undefined) {
  const texts = objectsOf(check?.messages[0]?.content).map(({ text }) => String(text).split('\n'))
  const [rules = [], conversation = [], surroundings = [], calls = []] = texts
  return { rules, conversation, surroundings, calls }
}

/** An answer of the classifier that calls the report with these arguments. */
export function report(args: unknown, how: ReportForm = {}) {
  return streamReply(framesOfCall(args, how))
}

interface ReportForm {
  readonly name?: string
  readonly stop?: string
  readonly times?: number
}

/** An answer of Claude's that calls a tool. */
export function framesOfCall(
  args: unknown,
  { name = 'report_verdicts', stop = 'tool_use', times = 1 }: ReportForm = {},
): readonly string[] {
  const blocks = Array.from({ length: times }, (_, index) => [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id: `toolu_r${index}`, name, input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: typeof args === 'string' ? args : JSON.stringify(args) },
    },
    { type: 'content_block_stop', index },
  ])
  return framesOf(blocks.flat(), stop)
}

/** An answer of the classifier that only says something. */
export function words(text: string) {
  const blocks = [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
  ]
  return streamReply(framesOf(blocks, 'end_turn'))
}

function framesOf(blocks: readonly (JsonObject & { readonly type: string })[], stop: string): readonly string[] {
  const events = [
    { type: 'message_start', message: { id: 'msg_c', role: 'assistant', content: [], usage: { input_tokens: 10 } } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}
