import type { SseEvent } from '../../../sse/decode.ts'
import type { ReplySeed } from '../../dialect.ts'
import { refuseDamaged, toStreamFault } from '../../parts/stream-fault.ts'
import { isFilled, parseObject } from '../../../json/json.ts'
import type { WireEvent } from '../wire.ts'

/** The end mark of OpenAI's streams, which Copilot may send after `message_stop`. */
export function isEndMark(data: string): boolean {
  return data.startsWith('[DONE]')
}

/**
 * Reads the type from the data, because the `event:` line may be missing. Undefined for data without a type.
 * @throws Fault `upstream_failed`, `upstream_status` for an error, in any of the shapes of docs/copilot-wire.md,
 * "Messages stream"; `upstream_unusable` for data that is not JSON
 */
export function readEvent({ event: name, data }: SseEvent, redact: ReplySeed['redact']): WireEvent | undefined {
  const value = parseObject(data)
  if (name === 'error') throw toStreamFault(value?.['error'] ?? value ?? data, redact)
  if (value === undefined) {
    refuseDamaged(data)
    return undefined
  }
  if (hasType(value)) {
    if (value.type === 'error') throw toStreamFault(value['error'] ?? value, redact)
    return value
  }
  if (value['error']) throw toStreamFault(value['error'], redact)
  // The oldest form of an error has only a message.
  if (isFilled(value['message'])) throw toStreamFault(value, redact)
  return undefined
}

function hasType(value: { readonly [key: string]: unknown }): value is WireEvent {
  return isFilled(value['type'])
}
