import { Agent, request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 1000 })

/** A chat body as agents send it; the marker in the prompt says what the simulated Copilot does. */
export function chatBody(prompt: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      model: 'demo-bench',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: prompt },
      ],
    }),
  )
}

/** The chat body of a long agent session: `bytes` of history, code with quotes and newlines, before the prompt. */
export function longChatBody(prompt: string, bytes: number): Buffer {
  const line = 'const answer = { "text": "a line of code\\n", count: 42 }\n'
  const turn = line.repeat(70)
  const messages = []
  for (let size = 0; size < bytes; size += 2 * turn.length) {
    messages.push({ role: 'user', content: turn }, { role: 'assistant', content: turn })
  }
  messages.push({ role: 'user', content: prompt })
  return Buffer.from(
    JSON.stringify({ model: 'demo-bench', stream: true, stream_options: { include_usage: true }, messages }),
  )
}

export interface Answered {
  readonly bytes: number
  /** From the last byte of the request to the first byte of the answer. Ms. */
  readonly firstByteMs: number
}

function post(url: string, body: Buffer, onAnswer: (answer: IncomingMessage) => void): ClientRequest {
  const call = request(`${url}/v1/chat/completions`, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length },
  })
  call.on('response', onAnswer)
  call.end(body)
  return call
}

/** One request, read to its end. */
export function ask(url: string, body: Buffer): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sentAt = performance.now()
    let firstByteMs = 0
    let bytes = 0
    post(url, body, (answer) => {
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
  body: Buffer,
  total: number,
  parallel: number,
): Promise<readonly Answered[]> {
  const answers: Answered[] = []
  let left = total
  async function worker(): Promise<void> {
    while (left > 0) {
      left -= 1
      answers.push(await ask(url, body))
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return answers
}

/** Opens streams and keeps them open once their first byte is there; returns how to end them. */
export async function hold(url: string, body: Buffer, count: number): Promise<() => void> {
  const calls: ClientRequest[] = []
  await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<void>((resolve, reject) => {
          const call = post(url, body, (answer) => {
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
