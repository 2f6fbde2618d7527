import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { listen } from '../support.ts'

export interface Answer {
  readonly status?: number
  readonly body: string | object
  readonly headers?: Readonly<Record<string, string>>
}

/** What the issuer was asked, in order. */
export interface Asked {
  readonly path: string
  readonly type: string
  readonly body: string
}

/**
 * An issuer on loopback with scripted answers for each path. The last answer of a path repeats. Like the real one, it accepts
 * only POST and sends one answer for each request.
 */
export async function openIssuer(
  answers: Readonly<Record<string, readonly Answer[]>>,
): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = []
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request)
    const path = request.url ?? ''
    const known = request.method === 'POST' ? (answers[path] ?? []) : []
    const before = asked.filter((one) => one.path === path).length
    asked.push({ path, type: request.headers['content-type'] ?? '', body })
    const answer = known[Math.min(before, known.length - 1)] ?? { status: 500, body: 'not played' }
    const isText = typeof answer.body === 'string'
    response.writeHead(answer.status ?? 200, {
      'content-type': isText ? 'text/plain' : 'application/json',
      ...answer.headers,
    })
    response.end(isText ? answer.body : JSON.stringify(answer.body))
  }
  const server = await listen((request, response) => void reply(request, response))
  onTestFinished(() => server.close())
  return { url: server.url, asked }
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
  return text
}

/** A token that says this of itself; nobody can mistake it for a real one. */
export function exampleJwt(payload: object): string {
  return `${encodePart({ alg: 'none' })}.${encodePart(payload)}.test`
}

function encodePart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
