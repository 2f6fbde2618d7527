import type { SseEvent } from '../sse/decode.ts'
import type { FirstEvent } from './first-output.ts'
import { isRecord, parseRecord } from './json-record.ts'
import type { JsonRecord } from './json-record.ts'
import { readErrorValue } from './status-fault.ts'
import type { ErrorBody } from './status-fault.ts'

/** A failure inside a 200. */
export interface StreamRefusal {
  /** What the event calls its status, where it does. */
  readonly status: number | undefined
  readonly error: ErrorBody
}

/** Said before there is any output. Source: docs/codex-wire.md, "Event stream". */
const preludes: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'response.metadata',
  'keepalive',
])

/** What an event at the start of a Responses stream is. What is not JSON is left to whoever reads the stream. */
export function judgeCodexEvent({ event, data }: SseEvent): FirstEvent<StreamRefusal> {
  const value = parseRecord(data)
  if (value === undefined) return 'output'
  const type = typeof value['type'] === 'string' ? value['type'] : event
  if (preludes.has(type) || type.startsWith('codex.')) return 'prelude'
  if (type === 'response.failed') {
    const response = isRecord(value['response']) ? value['response'] : {}
    return { refusal: { status: undefined, error: readErrorValue({ error: response['error'] }) } }
  }
  // A 200 whose body is an error has no type at all.
  const isError = type === 'error' || (type === '' && ('error' in value || 'detail' in value))
  return isError ? { refusal: { status: statusIn(value), error: readErrorValue(value) } } : 'output'
}

/** As it is in errors that were wrapped into an event. */
function statusIn(value: JsonRecord): number | undefined {
  const status = value['status'] ?? value['status_code']
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}
