import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { objectOf, textOf } from '../../../src/json/json.ts'
import { dataOf } from '../client.ts'

/** What an answer says and calls, in no API's form. */
export interface ReadAnswer {
  readonly text: string
  readonly calls: readonly ReadCall[]
  /** The caller's own word for why the answer ended; undefined on Responses. */
  readonly finish: unknown
}

interface ReadCall {
  readonly name: string
  readonly arguments: unknown
}

type Json = Readonly<Record<string, unknown>>

/** Reads a whole or streamed answer of status 200. */
export function readAnswer(caller: UpstreamDialectId, text: string): ReadAnswer {
  const isStream = !text.startsWith('{')
  const events = isStream
    ? dataOf(text)
        .filter((data) => data !== '[DONE]')
        .map(parsed)
    : [parsed(text)]
  switch (caller) {
    case 'chat':
      return chatAnswer(events)
    case 'responses':
      return responsesAnswer(
        isStream ? objectOf(events.findLast(({ type }) => isLast(type))?.['response']) : objectOf(events[0]),
      )
    case 'messages':
      return isStream ? streamedMessage(events) : message(objectOf(events[0]))
  }
}

function isLast(type: unknown): boolean {
  return type === 'response.completed' || type === 'response.incomplete'
}

function parsed(text: string): Json {
  return objectOf(JSON.parse(text))
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(objectOf) : []
}

/** Arguments as a value; a text that is no JSON stays a text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function chatAnswer(events: readonly Json[]): ReadAnswer {
  const choices = events.flatMap(({ choices: each }) => list(each))
  const deltas = choices.map((choice) => objectOf(choice['delta'] ?? choice['message']))
  const calls = new Map<unknown, { name: string; text: string }>()
  for (const [at, call] of deltas.flatMap(({ tool_calls: each }) => list(each)).entries()) {
    const given = objectOf(call['function'])
    const index = call['index'] ?? at
    const known = calls.get(index) ?? { name: '', text: '' }
    calls.set(index, {
      name: known.name + textOf(given['name']),
      text: known.text + textOf(given['arguments']),
    })
  }
  return {
    text: deltas.map(({ content }) => textOf(content)).join(''),
    calls: [...calls.values()].map(({ name, text }) => ({ name, arguments: valueOf(text) })),
    finish: choices.findLast((choice) => (choice['finish_reason'] ?? null) !== null)?.['finish_reason'],
  }
}

function responsesAnswer({ output }: Json): ReadAnswer {
  const items = list(output)
  return {
    text: items
      .filter(({ type }) => type === 'message')
      .flatMap(({ content }) => list(content))
      .map(({ text }) => textOf(text))
      .join(''),
    calls: items
      .filter(({ type }) => type === 'function_call')
      .map(({ name, arguments: text }) => ({ name: textOf(name), arguments: valueOf(textOf(text)) })),
    finish: undefined,
  }
}

function message({ content, stop_reason: finish }: Json): ReadAnswer {
  const blocks = list(content)
  return {
    text: blocks.map(({ text }) => textOf(text)).join(''),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ name, input }) => ({ name: textOf(name), arguments: input })),
    finish,
  }
}

function streamedMessage(events: readonly Json[]): ReadAnswer {
  const blocks = events
    .filter(({ type }) => type === 'content_block_start')
    .map(({ index, content_block: block }) => {
      const deltas = events.filter((each) => each['type'] === 'content_block_delta' && each['index'] === index)
      const pieces = deltas.map(({ delta }) => objectOf(delta))
      const json = pieces.map(({ partial_json: piece }) => textOf(piece)).join('')
      const text = pieces.map((piece) => textOf(piece['text'])).join('')
      return Object.assign(objectOf(block), { text, ...(json !== '' && { input: valueOf(json) }) })
    })
  const end = events.findLast(({ type }) => type === 'message_delta')
  return message({ content: blocks, stop_reason: objectOf(end?.['delta'])['stop_reason'] })
}
