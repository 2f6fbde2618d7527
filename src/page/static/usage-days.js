/** @import { DayTotals } from '../../api/usage.ts' */

/**
 * @typedef {{ readonly day: string, readonly requests: number, readonly errors: number, readonly tokens: number, readonly credits: number | null }} Day
 */

/**
 * Returns the last days up to today, including those without requests.
 * @param {readonly DayTotals[]} usage in any order
 * @param {number} count
 * @param {Date} today
 * @returns {Day[]} oldest first
 */
export function toDays(usage, count, today) {
  const known = new Map(usage.map((day) => [day.day, day]))
  return Array.from({ length: count }, (_, at) => {
    // Noon is on the same date also if daylight saving time changes that day.
    const date = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - at), 12)
    const day = toDay(date)
    const found = known.get(day)
    return {
      day,
      requests: found?.requests ?? 0,
      errors: found?.errors ?? 0,
      tokens: (found?.input_tokens ?? 0) + (found?.output_tokens ?? 0),
      credits: found?.credits ?? null,
    }
  })
}

/**
 * The part of the month before a reset that is over, 0 to 1; undefined without a date.
 * @param {string | undefined} resetsAt ISO 8601
 * @param {Date} now
 */
export function toMonthShare(resetsAt, now) {
  const end = new Date(resetsAt ?? '')
  if (Number.isNaN(end.getTime())) return undefined
  const start = Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, end.getUTCDate())
  return Math.min(1, Math.max(0, (now.getTime() - start) / (end.getTime() - start)))
}

/** @param {Date} date */
function toDay(date) {
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`
}

/** @param {number} value */
function twoDigits(value) {
  return String(value).padStart(2, '0')
}
