import { Agent, request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 1000 })

export const dialects = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof dialects)[number]

export interface Load {
  readonly path: string
  readonly body: Buffer
}

/** Models of the simulated Copilot that are served in one upstream dialect only, at almost no cost. */
const modelOf: Readonly<Record<DialectName, string>> = {
  chat: 'demo-bench',
  responses: 'demo-bench-responses',
  messages: 'demo-bench-messages',
}

/**
 * A streaming request as agents send it, in the caller's dialect, for a model that `upstream` alone serves. The marker in
 * the prompt controls the simulated Copilot.
 */
export function load(caller: DialectName, prompt: string, upstream: DialectName = caller): Load {
  const model = modelOf[upstream]
  const system = 'You are a helpful assistant.'
  const user = { role: 'user', content: prompt }
  switch (caller) {
    case 'chat':
      return toLoad('/v1/chat/completions', {
        model,
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'system', content: system }, user],
      })
    case 'responses':
      return toLoad('/v1/responses', { model, stream: true, store: false, instructions: system, input: [user] })
    case 'messages':
      return toLoad('/v1/messages', { model, stream: true, max_tokens: 4096, system, messages: [user] })
  }
}

/** The same request for a reply that is not streamed. */
export function unstreamed({ path, body }: Load): Load {
  return toLoad(path, { ...(JSON.parse(body.toString()) as object), stream: false })
}

function toLoad(path: string, body: object): Load {
  return { path, body: Buffer.from(JSON.stringify(body)) }
}

/**
 * A chat request with 120 tools, 250 KB, as MCP servers describe them: limits of values that no upstream takes are in a
 * third of the properties, so that each tool has to be fitted.
 */
export function withTools({ path, body }: Load): Load {
  const properties = Array.from({ length: 10 }, (_, at) => [
    `option_${at}`,
    { type: 'string', description: 'The value as the program takes it. '.repeat(4), ...(at % 3 === 0 && limits) },
  ])
  const parameters = { type: 'object', properties: Object.fromEntries(properties) as object, required: ['option_0'] }
  const tools = Array.from({ length: 120 }, (_, at) => ({
    type: 'function',
    function: { name: `tool_${at}`, description: 'Reads a file, and changes it. '.repeat(4), parameters },
  }))
  return toLoad(path, { ...(JSON.parse(body.toString()) as object), tools })
}

const limits = { minLength: 1, pattern: '^[a-z]' }

/** The chat request of a long agent session: `bytes` of history, code with quotes and newlines, before the prompt. */
export function longChat(prompt: string, bytes: number): Load {
  const line = 'const answer = { "text": "a line of code\\n", count: 42 }\n'
  const turn = line.repeat(70)
  const messages = []
  for (let size = 0; size < bytes; size += 2 * turn.length) {
    messages.push({ role: 'user', content: turn }, { role: 'assistant', content: turn })
  }
  messages.push({ role: 'user', content: prompt })
  return toLoad('/v1/chat/completions', {
    model: modelOf.chat,
    stream: true,
    stream_options: { include_usage: true },
    messages,
  })
}

export interface Answered {
  readonly bytes: number
  /** From the last byte of the request to the first byte of the answer. Ms. */
  readonly firstByteMs: number
}

function post(url: string, { path, body }: Load, onAnswer: (answer: IncomingMessage) => void): ClientRequest {
  const call = request(url + path, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length },
  })
  call.on('response', onAnswer)
  call.end(body)
  return call
}

/** One request, read to its end. */
export function ask(url: string, payload: Load): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sentAt = performance.now()
    let firstByteMs = 0
    let bytes = 0
    post(url, payload, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`answered ${answer.statusCode}`))
      answer.on('data', (chunk: Buffer) => {
        if (bytes === 0) firstByteMs = performance.now() - sentAt
        bytes += chunk.length
      })
      answer.on('end', () => resolve({ bytes, firstByteMs }))
      answer.on('error', reject)
    }).on('error', reject)
  })
}

/** `total` requests, `parallel` at a time. */
export async function askMany(
  url: string,
  payload: Load,
  total: number,
  parallel: number,
): Promise<readonly Answered[]> {
  const answers: Answered[] = []
  let left = total
  async function worker(): Promise<void> {
    while (left > 0) {
      left -= 1
      answers.push(await ask(url, payload))
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return answers
}

/** Opens streams and keeps them open after their first byte. Returns a function that ends them. */
export async function hold(url: string, payload: Load, count: number): Promise<() => void> {
  const calls: ClientRequest[] = []
  await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<void>((resolve, reject) => {
          const call = post(url, payload, (answer) => {
            answer.once('data', () => resolve())
            answer.on('error', () => {})
          })
          call.on('error', reject)
          calls.push(call)
        }),
    ),
  )
  return () => {
    for (const call of calls) call.destroy()
  }
}
