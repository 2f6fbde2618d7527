import type { Advice } from '../upstream-advice.ts'

/** The two largest units, e.g. `3 h 51 min`. */
export function inWords(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  if (seconds < 60) return `${seconds} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** `2026-12-01 00:00 UTC`. */
export function timeInWords(timeMs: number): string {
  const time = new Date(timeMs).toISOString()
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
}

interface LimitedReply {
  readonly status: number
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Whose `rst` is the reset of a limit (docs/copilot-wire.md, "Response headers"). */
const resetHeaders = {
  month: ['x-quota-snapshot-premium_interactions', 'x-quota-snapshot-chat'],
  week: ['x-usage-ratelimit-weekly'],
  session: ['x-usage-ratelimit-session'],
} satisfies Record<NonNullable<Advice['limit']>, readonly string[]>

/** When a limit of Copilot's ends, as a sentence; '' where nothing tells. */
export function resetWords(limit: Advice['limit'], { status, retryAfter = '', headers }: LimitedReply): string {
  if (limit === undefined && status !== 429 && status !== 503) return ''
  const what = limit === undefined ? 'It may be asked again' : 'It resets'
  if (/^0*[1-9]\d*$/.test(retryAfter)) return `${what} in ${inWords(Number(retryAfter))}.`
  const times = [
    /^\d*$/.test(retryAfter) ? '' : retryAfter,
    ...(limit === undefined ? [] : resetHeaders[limit]).map((name) => resetIn(headers[name])),
  ]
  const timeMs = times.map((time) => Date.parse(time)).find((time) => time > 0)
  if (timeMs !== undefined) return `${what} at ${timeInWords(timeMs)}.`
  return limit === 'month' ? 'When it resets: copilot-proxy usage.' : ''
}

/** Of `ent=300&rem=0.0&rst=2026-12-01T00%3A00%3A00Z`. */
function resetIn(header = ''): string {
  return new URLSearchParams(header).get('rst') ?? ''
}
