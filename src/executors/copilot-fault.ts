import { explainNotification } from '../auth/copilot/notifications.ts'
import { Fault } from '../errors.ts'
import { adviceOfCopilot } from '../upstream-errors/advice.ts'
import type { Advice } from '../upstream-errors/advice.ts'
import { inWords, timeInWords, toUpstreamMessage } from '../upstream-errors/message.ts'
import { readErrorBody, textOf } from '../upstream-errors/error-body.ts'
import type { ErrorBody } from '../upstream-errors/error-body.ts'
import { isObject } from '../json/json.ts'

export interface ErrorReply {
  readonly status: number
  readonly body: string
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  /** The headers that a caller may see. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * An error reply as a Fault. Bodies come in several shapes and are often mislabelled, so they are read by content.
 * Source: docs/copilot-wire.md, "Errors".
 * @param redact removes known credentials from its message
 */
export function toStatusFault(
  { status, body, retryAfter, headers }: ErrorReply,
  redact: (text: string) => string,
): Fault {
  if (status < 400) {
    return new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${status}`, headers })
  }
  const found = readErrorBody(body)
  const known = adviceFor(status, found)
  const code = found.code ?? known?.code
  const advice = [resetWords(known?.limit, { status, retryAfter, headers }), known?.advice].filter(Boolean).join(' ')
  return new Fault({
    kind: 'upstream_status',
    status,
    message:
      found.message === undefined
        ? `Copilot answered ${status} without a message.`
        : toUpstreamMessage(found.message, redact),
    ...(advice !== '' && { advice }),
    ...(code !== undefined && { code }),
    ...(found.type !== undefined && { type: found.type }),
    ...(found.param !== undefined && { param: found.param }),
    ...(retryAfter !== undefined && { retryAfter }),
    headers,
  })
}

/** A refusal of the account carries the notification ids of the token exchange, also as codes. */
function adviceFor(status: number, found: ErrorBody): Advice | undefined {
  const details = found.fields?.['error_details']
  const id = (isObject(details) ? textOf(details['notification_id']) : undefined) ?? found.code
  const explained = status === 403 ? explainNotification(id ?? '') : undefined
  if (id === undefined || explained === undefined) return adviceOfCopilot(status, found)
  return { code: id, advice: `${explained.message} ${explained.fix}.` }
}

interface LimitedReply {
  readonly status: number
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Headers whose `rst` is the reset of a limit (docs/copilot-wire.md, "Response headers"). */
const resetHeaders = {
  month: ['x-quota-snapshot-premium_interactions', 'x-quota-snapshot-chat'],
  week: ['x-usage-ratelimit-weekly'],
  session: ['x-usage-ratelimit-session'],
} satisfies Record<NonNullable<Advice['limit']>, readonly string[]>

/** When a Copilot limit ends, as a sentence; '' if unknown. */
function resetWords(limit: Advice['limit'], { status, retryAfter = '', headers }: LimitedReply): string {
  if (limit === undefined && status !== 429 && status !== 503) return ''
  const what = limit === undefined ? 'You can retry' : 'It resets'
  if (/^0*[1-9]\d*$/.test(retryAfter)) return `${what} in ${inWords(Number(retryAfter))}.`
  const times = [
    /^\d*$/.test(retryAfter) ? '' : retryAfter,
    ...(limit === undefined ? [] : resetHeaders[limit]).map((name) => resetIn(headers[name])),
  ]
  const timeMs = times.map((time) => Date.parse(time)).find((time) => time > 0)
  if (timeMs !== undefined) return `${what} at ${timeInWords(timeMs)}.`
  return limit === 'month' ? 'To see when it resets, run: copilot-proxy usage.' : ''
}

/** The `rst` of `ent=300&rem=0.0&rst=2026-12-01T00%3A00%3A00Z`. */
function resetIn(header = ''): string {
  return new URLSearchParams(header).get('rst') ?? ''
}
