import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { callArguments, textPieces, toPrompt } from './plan.ts'
import type { Plan } from './plan.ts'
import { createReader, isErrorBody, readBody } from './read-answer.ts'
import type { ReadAnswer } from './read-answer.ts'

export const dialects: readonly [UpstreamDialectId, ...UpstreamDialectId[]] = ['chat', 'responses', 'messages']

/** Models of the simulated Copilot, each of which one upstream dialect alone serves. */
export const modelOf: Readonly<Record<UpstreamDialectId, string>> = {
  chat: 'demo-bench',
  responses: 'demo-bench-responses',
  messages: 'demo-bench-messages',
}

const paths: Readonly<Record<UpstreamDialectId, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}

export interface Call {
  readonly caller: UpstreamDialectId
  readonly upstream: UpstreamDialectId
  readonly stream: boolean
  readonly plan: Plan
}

export interface ReadHow {
  /** Ms to wait after each chunk: a slow reader. */
  readonly pauseMs?: number | undefined
  /** Leaves after this long, whatever came. Ms. */
  readonly leaveAfterMs?: number | undefined
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

const tool = { name: 'read', description: 'reads', parameters: { type: 'object', properties: {} } }

function toBody({ caller, upstream, stream, plan }: Call): Record<string, unknown> {
  const model = modelOf[upstream]
  const user = { role: 'user', content: toPrompt(plan) }
  switch (caller) {
    case 'chat':
      return { model, stream, messages: [user], tools: [{ type: 'function', function: tool }] }
    case 'responses':
      return { model, stream, store: false, input: [user], tools: [{ type: 'function', ...tool }] }
    case 'messages':
      return {
        model,
        stream,
        max_tokens: 4096,
        messages: [user],
        tools: [{ name: tool.name, description: tool.description, input_schema: tool.parameters }],
      }
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 2000, timeout: 120_000 })

/** Closes connections that no request is using. */
export function closeIdle(): void {
  agent.destroy()
}

interface Raw {
  readonly status: number
  readonly text: string
  /** The connection broke in the middle of the answer. */
  readonly broken: boolean
}

/** One exchange, read to its end. */
export function exchange(
  url: string,
  options: { readonly method?: string; readonly body?: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>()
  const { method = 'GET', body = '', headers = {} } = options
  const outgoing = request(url, { agent, method, headers: { 'content-type': 'application/json', ...headers } })
  outgoing.on('response', (answer) => {
    const chunks: Buffer[] = []
    const finish = (broken: boolean): void =>
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString(), broken })
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => finish(false))
    answer.on('error', () => finish(true))
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}

export type Verdict = { readonly kind: 'exact' | 'faulted' | 'left' } | { readonly kind: 'wrong'; readonly why: string }

/** Asks, reads, and judges the answer by what the plan says it is. */
export async function askAndJudge(url: string, call: Call, how: ReadHow = {}): Promise<Verdict> {
  const outcome = await ask(url, call, how)
  if (outcome === 'left') return { kind: 'left' }
  const why = judge(call, outcome)
  if (why !== undefined) return { kind: 'wrong', why: `${describe(call)}: ${why}` }
  return { kind: call.plan.fault === 'none' ? 'exact' : 'faulted' }
}

function describe({ caller, upstream, stream, plan }: Call): string {
  return `${caller} > ${upstream} ${stream ? 'stream' : 'body'} ${toPrompt(plan)} ${plan.fault}`
}

interface Outcome {
  readonly status: number
  readonly read: ReadAnswer
  readonly errorText: string
  readonly broken: string
  readonly isCut: boolean
}

function ask(url: string, call: Call, how: ReadHow): Promise<Outcome | 'left'> {
  const { promise, resolve } = Promise.withResolvers<Outcome | 'left'>()
  const reader = createReader(call.caller)
  const chunks: Uint8Array[] = []
  const outgoing = request(url + paths[call.caller], {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  })
  const leaving =
    how.leaveAfterMs === undefined
      ? undefined
      : setTimeout(() => {
          resolve('left')
          outgoing.destroy()
        }, how.leaveAfterMs)

  function finish(status: number, broken: string): void {
    clearTimeout(leaving)
    const text = Buffer.concat(chunks).toString()
    const isStream = status === 200 && call.stream
    resolve({
      status,
      read: isStream || status !== 200 || broken !== '' ? reader.answer : readBody(call.caller, text),
      errorText: status === 200 ? '' : text,
      broken,
      isCut: isStream && reader.isCut(),
    })
  }

  async function take(answer: IncomingMessage): Promise<void> {
    const status = answer.statusCode ?? 0
    try {
      for await (const chunk of answer) {
        // A socket without an encoding gives buffers.
        const bytes = chunk as Buffer
        how.onChunk?.(bytes)
        if (status === 200 && call.stream) reader.push(bytes)
        else chunks.push(bytes)
        if (how.pauseMs !== undefined) await sleep(how.pauseMs)
      }
      finish(status, '')
    } catch (error) {
      finish(status, String(error))
    }
  }

  outgoing.on('response', (answer) => void take(answer))
  outgoing.on('error', (error) => finish(0, String(error)))
  outgoing.end(JSON.stringify(toBody(call)))
  return promise
}

/** What no answer may hold. */
const leaks = /tid=demo|ghu_demo|soak-pipe-token|\n {4}at |\.ts:\d/

/** @returns why the answer is wrong; undefined when it is as planned */
function judge({ caller, upstream, stream, plan }: Call, outcome: Outcome): string | undefined {
  const { status, read, errorText, broken, isCut } = outcome
  if (leaks.test(errorText)) return `the error says too much: ${errorText.slice(0, 200)}`
  if (broken !== '') return `the connection broke: ${status} ${broken} ${read.end}`
  if (isCut) return 'the stream ended in the middle of a frame'
  if (read.faults.length > 0) return read.faults[0]
  const pieces = textPieces(plan)
  if (plan.fault !== 'none') {
    if (stream && status === 200) {
      if (read.end !== 'error') return `upstream's ${plan.fault} ended as ${read.end}`
      return pieces.join('').startsWith(read.text) ? undefined : 'the text before the failure is another'
    }
    if (status < 500) return `upstream's ${plan.fault} was answered ${status}`
    return isErrorBody(caller, errorText) ? undefined : `not in shape: ${errorText.slice(0, 200)}`
  }
  if (status !== 200) return `answered ${status}: ${errorText.slice(0, 300)}`
  if (read.end !== 'done') return `ended as ${read.end}`
  if (!plan.stamped && read.text !== pieces.join('')) return differenceOf(read.text, pieces.join(''))
  const args = plan.call ? callArguments(plan) : ''
  if (read.call === args) return undefined
  // A body of the Messages API holds the arguments parsed.
  return `the call of ${upstream} is ${read.call.slice(0, 200)} and not ${args.slice(0, 200)}`
}

function differenceOf(found: string, wanted: string): string {
  let same = 0
  while (same < found.length && found[same] === wanted[same]) same += 1
  const part = (text: string): string => JSON.stringify(text.slice(Math.max(0, same - 20), same + 40))
  return `from ${same} of ${wanted.length} (${found.length}) on ${part(found)} and not ${part(wanted)}`
}
