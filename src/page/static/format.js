const whole = new Intl.NumberFormat('en')
const fraction = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** @param {number} value */
export function toCount(value) {
  return whole.format(value)
}

/** @param {number} value 12345 becomes `12.3K` */
export function toShortCount(value) {
  return value < 10_000 ? whole.format(value) : compact.format(value)
}

/** @param {number} credits */
export function toCredits(credits) {
  return credits > 0 && credits < 0.01 ? '<0.01' : fraction.format(credits)
}

/** @param {number} ms */
export function toDuration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${fraction.format(ms / 1000)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/**
 * @param {string} time ISO 8601
 * @returns {string} the local time, e.g. `14:03:21`
 */
export function toClock(time) {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return ''
  return date.toLocaleTimeString('en-GB')
}

/**
 * @param {string} time ISO 8601
 * @returns {string} the local date and time, e.g. `24 Nov 2026, 14:03:21`
 */
export function toDateTime(time) {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return ''
  return date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}

/** @param {string} day `2026-11-24` becomes `24 Nov` */
export function toShortDay(day) {
  const date = new Date(`${day}T12:00:00`)
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

/**
 * @param {string} time ISO 8601
 * @param {Date} now
 * @returns {string} the time until then, e.g. `3 days`, `5 hours`, `12 minutes`
 */
export function toUntil(time, now) {
  const minutes = Math.max(0, Math.ceil((Date.parse(time) - now.getTime()) / 60_000))
  if (minutes < 60) return plural(minutes, 'minute')
  return minutes < 48 * 60 ? plural(Math.round(minutes / 60), 'hour') : plural(Math.round(minutes / 1440), 'day')
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${whole.format(count)} ${noun}${count === 1 ? '' : 's'}`
}
