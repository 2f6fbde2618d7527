/** @import { Day } from './usage-days.js' */
import { element, svgElement } from './dom.js'
import { plural, toCount, toCredits, toShortCount } from './format.js'

const width = 600
const height = 96
const gap = 3

/**
 * Shows requests by day as bars, with failed requests on top, and the same data as a table.
 * @param {readonly Day[]} days oldest first
 * @returns {HTMLElement}
 */
export function usageChart(days) {
  const most = Math.max(1, ...days.map(({ requests }) => requests))
  const total = days.reduce((sum, { requests }) => sum + requests, 0)
  const failed = days.reduce((sum, { errors }) => sum + errors, 0)
  const slot = width / days.length
  const bars = days.flatMap(({ day, requests, errors }, at) => {
    const good = scaled(requests - errors, most)
    const bad = scaled(errors, most)
    const place = { x: at * slot + gap / 2, width: slot - gap, rx: 1.5 }
    const label = svgElement(
      'title',
      {},
      `${day}: ${plural(requests, 'request')}${errors > 0 ? `, ${errors} failed` : ''}`,
    )
    return [
      svgElement('rect', { ...place, y: 0, height, class: 'slot' }, label),
      svgElement('rect', { ...place, y: height - good, height: good, class: 'bar' }),
      svgElement('rect', { ...place, y: height - good - bad, height: bad, class: 'bar failed' }),
    ]
  })
  const first = days[0]?.day ?? ''
  const last = days.at(-1)?.day ?? ''
  const summary = `${plural(total, 'request')} in ${days.length} days, ${failed} failed; ${toCount(most)} on the busiest day`
  return element(
    'figure',
    { class: 'chart' },
    element('figcaption', {}, element('h3', {}, 'Requests by day'), element('span', { class: 'muted' }, summary)),
    svgElement(
      'svg',
      { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': summary },
      ...bars,
    ),
    element(
      'p',
      { class: 'axis', 'aria-hidden': 'true' },
      element('span', {}, toShortDay(first)),
      element('span', {}, toShortDay(last)),
    ),
    tableOf(days),
  )
}

/**
 * @param {number} value
 * @param {number} most
 */
function scaled(value, most) {
  return value <= 0 ? 0 : Math.max(2, (value / most) * (height - 4))
}

/** @param {string} day */
function toShortDay(day) {
  return new Date(`${day}T12:00:00`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

/** @param {readonly Day[]} days */
function tableOf(days) {
  const used = days.filter(({ requests }) => requests > 0).toReversed()
  const rows = used.map(({ day, requests, errors, tokens, credits }) => {
    const cost = credits === null ? '–' : toCredits(credits)
    const values = [toCount(requests), toCount(errors), toShortCount(tokens), cost]
    const cells = values.map((value) => element('td', { class: 'number' }, value))
    return element('tr', {}, element('th', { scope: 'row' }, day), ...cells)
  })
  const names = ['Day', 'Requests', 'Failed', 'Tokens', 'Credits']
  return element(
    'details',
    {},
    element('summary', {}, 'As a table'),
    used.length === 0
      ? element('p', { class: 'muted' }, 'No requests yet.')
      : element(
          'table',
          { class: 'plain' },
          element('thead', {}, element('tr', {}, ...names.map((name) => element('th', { scope: 'col' }, name)))),
          element('tbody', {}, ...rows),
        ),
  )
}
