/** @import { Day } from './usage-days.js' */
import { element, svgElement } from './dom.js'
import { plural, toCount, toCredits, toShortCount, toShortDay } from './format.js'
import { segmented } from './view.js'

const width = 600
const height = 120
const gap = 3

/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {(day: Day) => number} of
 * @property {(value: number) => string} text
 */

/** @type {Readonly<Record<'credits' | 'requests' | 'tokens', Metric>>} */
const metrics = {
  credits: { name: 'Credits', of: ({ credits }) => credits ?? 0, text: (value) => `${toCredits(value)} credits` },
  requests: { name: 'Requests', of: ({ requests }) => requests, text: (value) => plural(value, 'request') },
  tokens: { name: 'Tokens', of: ({ tokens }) => tokens, text: (value) => `${toShortCount(value)} tokens` },
}

/** Use by day as bars, in one of three units, and the same numbers as a table. */
export function createUsageChart() {
  /** @type {keyof typeof metrics} */
  let metric = 'credits'
  /** @type {readonly Day[]} */
  let days = []
  const heading = element('h3', {})
  const summary = element('span', { class: 'muted' })
  const drawing = element('div', { class: 'drawing' })
  const body = element('tbody')
  const node = element(
    'figure',
    { class: 'chart' },
    element(
      'figcaption',
      {},
      heading,
      summary,
      segmented(
        'Unit of the chart',
        /** @type {const} */ (['credits', 'requests', 'tokens']).map((id) => [id, metrics[id].name]),
        (value) => {
          metric = value
          draw()
        },
      ),
    ),
    drawing,
    element('details', {}, element('summary', {}, 'As a table'), tableOf(body)),
  )

  function draw() {
    const { name, of, text } = metrics[metric]
    const values = days.map(of)
    const total = values.reduce((sum, value) => sum + value, 0)
    const top = niceTop(Math.max(...values, 0))
    const failed = days.reduce((sum, { errors }) => sum + errors, 0)
    heading.textContent = `${name} by day`
    summary.textContent = `${text(total)} in ${days.length} days${metric === 'requests' ? `, ${toCount(failed)} failed` : ''}`
    const most = days.reduce((best, day) => (of(day) > of(best) ? day : best), days[0] ?? emptyDay)
    const label = `${summary.textContent}; ${text(of(most))} on ${toShortDay(most.day)}, the busiest day`
    const marks = top === 0 ? ['0'] : [toAxis(top), toAxis(top / 2), '0']
    drawing.replaceChildren(
      element('div', { class: 'scale', 'aria-hidden': 'true' }, ...marks.map((mark) => element('span', {}, mark))),
      svgElement(
        'svg',
        { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        ...[0, 0.5, 1].map((at) =>
          svgElement('line', { x1: 0, x2: width, y1: at * height, y2: at * height, class: 'grid' }),
        ),
        ...days.flatMap((day, at) => barsOf(day, at, top)),
      ),
      element(
        'div',
        { class: 'axis', 'aria-hidden': 'true' },
        ...[0, Math.floor(days.length / 2), days.length - 1].map((at) =>
          element('span', {}, at === days.length - 1 ? 'today' : toShortDay(days[at]?.day ?? '')),
        ),
      ),
    )
    body.replaceChildren(...rowsOf(days))
  }

  /**
   * @param {Day} day
   * @param {number} at
   * @param {number} top
   */
  function barsOf(day, at, top) {
    const slot = width / days.length
    const { of, text } = metrics[metric]
    const high = scaled(of(day), top)
    const bad = metric === 'requests' ? scaled(day.errors, top) : 0
    const place = { x: at * slot + gap / 2, width: slot - gap }
    const failed = day.errors > 0 ? `, ${day.errors} failed` : ''
    const title = `${toShortDay(day.day)}: ${text(of(day))}${metric === 'requests' ? failed : ''}`
    return [
      svgElement('rect', { ...place, y: height - high, height: high, class: 'bar' }),
      bad > 0 && svgElement('rect', { ...place, y: height - high, height: Math.min(bad, high), class: 'bar failed' }),
      svgElement('rect', { x: at * slot, width: slot, y: 0, height, class: 'slot' }, svgElement('title', {}, title)),
    ]
  }

  return {
    node,
    /** @param {readonly Day[]} next oldest first */
    update(next) {
      if (JSON.stringify(next) === JSON.stringify(days)) return
      days = next
      draw()
    },
  }
}

/** @type {Day} */
const emptyDay = { day: '', requests: 0, errors: 0, tokens: 0, credits: null }

/**
 * @param {number} value
 * @param {number} top
 */
function scaled(value, top) {
  return value <= 0 || top === 0 ? 0 : Math.max(2, (value / top) * height)
}

/** @param {number} value the least of 1, 2, 4, 5 × 10ⁿ that is not below it */
function niceTop(value) {
  if (value <= 0) return 0
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 4, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

/** @param {number} value */
function toAxis(value) {
  return value < 1 ? toCredits(value) : toShortCount(value)
}

/** @param {HTMLElement} body */
function tableOf(body) {
  const names = ['Day', 'Requests', 'Failed', 'Tokens', 'Credits']
  return element(
    'table',
    { class: 'data' },
    element(
      'thead',
      {},
      element('tr', {}, ...names.map((name, at) => element('th', { scope: 'col', class: at > 0 && 'number' }, name))),
    ),
    body,
  )
}

/** @param {readonly Day[]} days */
function rowsOf(days) {
  const used = days.filter(({ requests }) => requests > 0).toReversed()
  return used.map(({ day, requests, errors, tokens, credits }) => {
    const cost = credits === null ? '–' : toCredits(credits)
    const cells = [toCount(requests), toCount(errors), toShortCount(tokens), cost]
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, day),
      ...cells.map((value) => element('td', { class: 'number' }, value)),
    )
  })
}
