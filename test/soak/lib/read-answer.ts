import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { isObject, objectsOf } from '../../../src/json/json.ts'

/** What a client has read of an answer. */
export interface ReadAnswer {
  text: string
  call: string
  /** Set by the mark that ends an answer of this dialect well, or by its error event. */
  end: 'open' | 'done' | 'error'
  /** Events after that end, and other violations of the grammar. */
  faults: string[]
}

type Json = Readonly<Record<string, unknown>>

function newAnswer(): ReadAnswer {
  return { text: '', call: '', end: 'open', faults: [] }
}

function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  let inner = value
  for (const key of keys) {
    if (Array.isArray(inner)) inner = inner[Number(key)]
    else inner = isObject(inner) ? inner[key] : undefined
  }
  return inner
}

function textAt(value: unknown, ...keys: readonly (string | number)[]): string {
  const found = at(value, ...keys)
  return typeof found === 'string' ? found : ''
}

type TakeEvent = (answer: ReadAnswer, data: Json) => void

const takeEvent: Readonly<Record<UpstreamDialectId, TakeEvent>> = {
  chat(answer, data) {
    if (data['error'] !== undefined) answer.end = 'error'
    answer.text += textAt(data, 'choices', 0, 'delta', 'content')
    answer.call += textAt(data, 'choices', 0, 'delta', 'tool_calls', 0, 'function', 'arguments')
  },
  messages(answer, data) {
    answer.text += textAt(data, 'delta', 'text')
    answer.call += textAt(data, 'delta', 'partial_json')
    if (data['type'] === 'message_stop') answer.end = 'done'
    if (data['type'] === 'error') answer.end = 'error'
  },
  responses(answer, data) {
    switch (data['type']) {
      case 'response.output_text.delta':
        answer.text += textAt(data, 'delta')
        break
      case 'response.function_call_arguments.delta':
        answer.call += textAt(data, 'delta')
        break
      case 'response.completed':
        answer.end = 'done'
        break
      case 'response.failed':
      case 'error':
        answer.end = 'error'
    }
  },
}

/** Reads an event stream as a client of the dialect does. */
export function createReader(dialect: UpstreamDialectId) {
  const decoder = createSseDecoder()
  const answer = newAnswer()
  let tail = ''

  return {
    answer,
    push(chunk: Uint8Array): void {
      for (const { data } of decoder.push(chunk)) {
        // An `error` event of the Responses API stands before the `response.failed` that ends the stream.
        const isWithinEnd = answer.end === 'error' && data.startsWith('{"type":"response.failed"')
        if (answer.end !== 'open' && data !== '[DONE]' && !isWithinEnd)
          answer.faults.push(`after the end: ${data.slice(0, 200)}`)
        if (data === '[DONE]') {
          if (dialect === 'chat' && answer.end === 'open') answer.end = 'done'
          else answer.faults.push('a [DONE] that does not belong there')
          continue
        }
        try {
          takeEvent[dialect](answer, JSON.parse(data) as Json)
        } catch {
          answer.faults.push(`not JSON: ${data.slice(0, 200)}`)
        }
      }
      tail = (tail + String(chunk.at(-2)) + String(chunk.at(-1))).slice(-4)
    },
    /** The connection ended in the middle of a frame. */
    isCut: () => tail !== '1010' && tail !== '',
  }
}

/** Reads a whole body. */
export function readBody(dialect: UpstreamDialectId, text: string): ReadAnswer {
  const answer = newAnswer()
  const body: unknown = JSON.parse(text)
  answer.end = 'done'
  switch (dialect) {
    case 'chat':
      answer.text = textAt(body, 'choices', 0, 'message', 'content')
      answer.call = textAt(body, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments')
      break
    case 'messages':
      for (const block of objectsOf(at(body, 'content'))) {
        if (block['type'] === 'text') answer.text += textAt(block, 'text')
        if (block['type'] === 'tool_use') answer.call += JSON.stringify(block['input'])
      }
      break
    case 'responses':
      for (const item of objectsOf(at(body, 'output'))) {
        answer.text += objectsOf(item['content'])
          .map((part) => textAt(part, 'text'))
          .join('')
        answer.call += textAt(item, 'arguments')
      }
  }
  return answer
}

/** Whether an error body is in the shape of its dialect. */
export function isErrorBody(dialect: UpstreamDialectId, text: string): boolean {
  try {
    const body: unknown = JSON.parse(text)
    const isFilled = textAt(body, 'error', 'message') !== ''
    return dialect === 'messages' ? isFilled && at(body, 'type') === 'error' : isFilled
  } catch {
    return false
  }
}
