/** @import { KeyTotals, ModelTotals, Periods, SessionTotals, TotalsRow } from '../../api/usage.ts' */
import { element } from './dom.js'
import { toCount, toCredits, toShortCount } from './format.js'
import { bar } from './usage-bars.js'
import { dataTable, segmented } from './view.js'

/** Rows that the page shows. */
const maxRows = 20

/** @typedef {{ readonly models: Periods<ModelTotals>, readonly keys: Periods<KeyTotals>, readonly sessions: Periods<SessionTotals> }} Usage */

/** @typedef {{ readonly name: string, readonly note: string, readonly sums: TotalsRow }} Row */

const groups = /** @type {const} */ ([
  ['models', 'Models'],
  ['sessions', 'Sessions'],
  ['keys', 'Keys'],
])
const periods = /** @type {const} */ ([
  ['today', 'Today'],
  ['last_7_days', '7 days'],
  ['month_to_date', 'Billing month'],
  ['last_30_days', '30 days'],
])

/** Use by model, session or key, with a bar for each share. */
export function createUsageTable() {
  /** @type {(typeof groups)[number][0]} */
  let group = 'models'
  /** @type {(typeof periods)[number][0]} */
  let period = 'last_30_days'
  /** @type {Usage | undefined} */
  let usage
  let shown = ''
  const body = element('tbody')
  const empty = element('p', { class: 'muted', hidden: true }, 'No requests in this period.')
  const table = dataTable(
    'Use by model, session or key',
    [['Name'], ['Share'], ['Requests', 'number'], ['Tokens in / out', 'number'], ['Credits', 'number']],
    body,
    'usage-table',
  )
  const select = element(
    'select',
    {
      id: 'usage-period',
      change: () => {
        period = periods.find(([value]) => value === select.value)?.[0] ?? period
        draw()
      },
    },
    ...periods.map(([value, text]) => element('option', { value, selected: value === period }, text)),
  )
  const node = element(
    'section',
    { class: 'card' },
    element(
      'header',
      {},
      element('h3', {}, 'Who used it'),
      element(
        'div',
        { class: 'filters' },
        segmented('Group by', groups, (value) => {
          group = value
          draw()
        }),
        element('div', { class: 'field' }, element('label', { for: 'usage-period' }, 'Period'), select),
      ),
    ),
    table,
    empty,
  )

  function draw() {
    const rows = rowsOf().slice(0, maxRows)
    const next = JSON.stringify(rows)
    if (next === shown) return
    shown = next
    const hasCredits = rows.some(({ sums }) => (sums.credits ?? 0) > 0)
    const valueOf = (/** @type {Row} */ { sums }) => (hasCredits ? (sums.credits ?? 0) : sums.requests)
    const total = rows.reduce((sum, row) => sum + valueOf(row), 0)
    body.replaceChildren(
      ...rows
        .toSorted((one, other) => valueOf(other) - valueOf(one))
        .map((row) => rowView(row, total === 0 ? 0 : valueOf(row) / total)),
    )
    table.hidden = rows.length === 0
    empty.hidden = rows.length > 0
  }

  /** @returns {readonly Row[]} */
  function rowsOf() {
    if (usage === undefined) return []
    if (group === 'models') {
      return usage.models[period].map((sums) => ({
        sums,
        name: sums.model || 'unknown model',
        note: sums.provider === 'codex' ? 'Codex' : '',
      }))
    }
    if (group === 'keys')
      return usage.keys[period].map((sums) => ({ sums, name: sums.key ?? 'without a key', note: '' }))
    return usage.sessions[period].map((sums) => ({
      sums,
      name: sums.client ?? 'unknown client',
      note: sums.session ?? 'names no session',
    }))
  }

  return {
    node,
    /** @param {Usage} next */
    update(next) {
      usage = next
      draw()
    },
  }
}

/**
 * @param {Row} row
 * @param {number} share
 */
function rowView({ name, note, sums }, share) {
  const cost = sums.credits === null ? '–' : `${sums.estimated ? '~' : ''}${toCredits(sums.credits)}`
  const values = [
    toCount(sums.requests),
    `${toShortCount(sums.input_tokens)} / ${toShortCount(sums.output_tokens)}`,
    cost,
  ]
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, name, note !== '' && element('span', { class: 'muted note-text' }, note)),
    element('td', { class: 'share' }, bar(`Share of ${name}`, share)),
    ...values.map((value) => element('td', { class: 'number' }, value)),
  )
}
