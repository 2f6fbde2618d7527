import type { SseEvent } from '../../sse/decode.ts'
import type { ReplySeed } from '../dialect.ts'
import { eventsLetGo, learnTemplate, matchTemplate, startTemplates } from '../parts/event-template.ts'
import type { EventTemplates, Hole } from '../parts/event-template.ts'
import { refuseDamaged } from '../parts/refuse-damaged.ts'
import { toStreamFault } from '../parts/stream-fault.ts'
import { isFilled, parseObject } from '../parts/wire-json.ts'
import type { WireEvent } from './wire-event.ts'

/** The mark that ends a stream of OpenAI's kind; Copilot can put it behind Anthropic's own end. */
export function isEndMark(data: string): boolean {
  return data.startsWith('[DONE]')
}

/** What differs between the deltas of a block. */
const holes: readonly Hole[] = ['text', 'thinking', 'partial_json'].map((key) => ({
  path: ['delta', key],
  kind: 'text',
}))

export function startEventTemplates(): EventTemplates {
  return startTemplates(holes, eventsLetGo)
}

/**
 * As `readEvent`, and without a parse where the event is the delta before it but for its words. It is to be read before
 * the next one is, for which the same object may be used again.
 */
export function readRepeatedEvent(
  templates: EventTemplates,
  sse: SseEvent,
  redact: ReplySeed['redact'],
): WireEvent | undefined {
  const repeated = sse.event === 'error' ? undefined : matchTemplate(templates, sse.data)
  if (repeated !== undefined && hasType(repeated)) return repeated
  const event = readEvent(sse, redact)
  if (event?.type === 'content_block_delta') learnTemplate(templates, sse.data, isRight)
  return event
}

/** Whatever is mended is mended in copies. */
function isRight(): boolean {
  return false
}

/**
 * An upstream event by the type in its data, which is there even where the `event:` line is not. Undefined where it
 * says nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for an error, in any of the shapes of docs/copilot-wire.md,
 * "Messages stream"; `upstream_unusable` for what is not JSON
 */
function readEvent({ event: name, data }: SseEvent, redact: ReplySeed['redact']): WireEvent | undefined {
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
  // The oldest shape of an error: nothing but a message.
  if (isFilled(value['message'])) throw toStreamFault(value, redact)
  return undefined
}

function hasType(value: { readonly [key: string]: unknown }): value is WireEvent {
  return isFilled(value['type'])
}
