import type { SseEvent } from '../../../sse/decode.ts'
import { readErrorValue } from '../../../upstream-errors/error-body.ts'
import type { FirstEvent } from '../../../upstream-errors/error-body.ts'
import { isObject, parseObject } from '../../../json/json.ts'
import type { JsonObject } from '../../../json/json.ts'

/** Events that come before any output. Source: docs/codex-wire.md, "Event stream". */
const preludes: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'response.metadata',
  'keepalive',
])

/** Judges an event at the start of a Responses stream. Data that is not JSON counts as output: the decoder reports it. */
export function judgeResponsesEvent({ event, data }: SseEvent): FirstEvent {
  const value = parseObject(data)
  if (value === undefined) return 'output'
  const type = typeof value['type'] === 'string' ? value['type'] : event
  if (preludes.has(type) || type.startsWith('codex.')) return 'prelude'
  if (type === 'response.failed') {
    const response = isObject(value['response']) ? value['response'] : {}
    return { refusal: { status: undefined, error: readErrorValue({ error: response['error'] }) } }
  }
  // If the body of a 200 is an error, it has no type at all.
  const isError = type === 'error' || (type === '' && ('error' in value || 'detail' in value))
  return isError ? { refusal: { status: statusOf(value), error: readErrorValue(value) } } : 'output'
}

/** The status in an error that a gateway has wrapped into an event. */
function statusOf(value: JsonObject): number | undefined {
  const status = value['status'] ?? value['status_code']
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}
