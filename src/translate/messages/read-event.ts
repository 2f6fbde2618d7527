import type { SseEvent } from '../../sse/decode.ts'
import { toStreamFault } from '../parts/stream-fault.ts'
import { isFilled, parseObject } from '../parts/wire-json.ts'
import type { WireEvent } from './wire-event.ts'

/** The mark that ends a stream of OpenAI's kind; Copilot can put it behind Anthropic's own end. */
export function isEndMark(data: string): boolean {
  return data.startsWith('[DONE]')
}

/**
 * An upstream event by the type in its data, which is there even where the `event:` line is not. Undefined where it
 * cannot be read.
 * @throws Fault `upstream_failed`, `upstream_status` for an error, in any of the shapes of docs/copilot-wire.md,
 * "Messages stream"
 */
export function readEvent({ event: name, data }: SseEvent): WireEvent | undefined {
  const value = parseObject(data)
  if (name === 'error') throw toStreamFault(value?.['error'] ?? value ?? data)
  if (value === undefined) return undefined
  if (hasType(value)) {
    if (value.type === 'error') throw toStreamFault(value['error'] ?? value)
    return value
  }
  if (value['error']) throw toStreamFault(value['error'])
  // The oldest shape of an error: nothing but a message.
  if (isFilled(value['message'])) throw toStreamFault(value)
  return undefined
}

function hasType(value: { [key: string]: unknown }): value is WireEvent {
  return isFilled(value['type'])
}
