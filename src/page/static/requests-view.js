/** @import { RequestDocument } from '../../api/requests.ts' */
/** @import { Budget, DayTotals, SessionTotals } from '../../api/usage.ts' */
import { ask } from './api.js'
import { createList, element } from './dom.js'
import { plural, toClock, toCount, toCredits, toDuration, toShortCount } from './format.js'
import { createRequestDialog } from './request-dialog.js'
import { usageChart } from './usage-chart.js'
import { toDays } from './usage-days.js'
import { budgetBars, sessionTable } from './usage-sessions.js'
import { toVisible } from './visible-text.js'

/** Number of requests that the page reads and shows. */
const listLength = 200
const chartDays = 30
/** Intervals between two reads of the list, and of the usage by day. Ms. */
const refreshMs = 2000
const usageMs = 60_000

const columns = ['Time', 'Client', 'Model', 'Status', 'Tokens', 'Credits', 'First byte', 'Duration', 'Notes']

/**
 * Shows the last requests through the proxy, and the usage by day.
 * @param {(error: unknown) => void} onFailure
 */
export function createRequestsView(onFailure) {
  /** Newest first. @type {readonly RequestDocument[]} */
  let rows = []
  let isShown = false
  let usageReadAt = -Infinity
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer

  const title = element('h2', { tabindex: -1 }, 'Requests')
  const client = filterSelect('request-client')
  const model = filterSelect('request-model')
  const failedOnly = element('input', { type: 'checkbox', id: 'request-failed', change: render })
  const isLive = element('input', { type: 'checkbox', id: 'request-live', checked: true, change: () => void refresh() })
  const reload = element('button', { type: 'button', class: 'quiet', click: () => void refresh() }, 'Refresh')
  const count = element('p', { class: 'muted', role: 'status' })
  const chart = element('div')
  const body = element('tbody')
  const updateRows = createList(body, rowView)
  const table = element(
    'table',
    { class: 'requests' },
    element('caption', { class: 'visually-hidden' }, 'The last requests, newest first'),
    element(
      'thead',
      {},
      element('tr', {}, ...columns.map((name) => element('th', { scope: 'col', class: classOf(name) }, name))),
    ),
    body,
  )
  const empty = element('p', { class: 'empty', hidden: true })
  const dialog = createRequestDialog(() => {
    if (location.hash.startsWith('#/requests/')) location.hash = '#/requests'
  })
  const node = element(
    'div',
    { class: 'requests-view' },
    title,
    chart,
    element(
      'form',
      {
        class: 'filters',
        'aria-label': 'Filter',
        submit: (/** @type {SubmitEvent} */ event) => event.preventDefault(),
      },
      element('div', { class: 'field' }, element('label', { for: 'request-client' }, 'Client'), client),
      element('div', { class: 'field' }, element('label', { for: 'request-model' }, 'Model'), model),
      element('div', { class: 'check' }, failedOnly, element('label', { for: 'request-failed' }, 'Failed only')),
      element('div', { class: 'check' }, isLive, element('label', { for: 'request-live' }, 'Live')),
      reload,
    ),
    count,
    element('div', { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': 'The last requests' }, table),
    empty,
    dialog.node,
  )

  /** @param {string} id */
  function filterSelect(id) {
    return element('select', { id, change: render }, element('option', { value: '' }, 'All'))
  }

  async function refresh() {
    clearTimeout(timer)
    if (!isShown) return
    try {
      if (document.visibilityState === 'visible') await read()
    } catch (error) {
      onFailure(error)
    }
    clearTimeout(timer)
    if (isShown && isLive.checked) timer = setTimeout(() => void refresh(), refreshMs)
  }

  async function read() {
    const [newest] = rows
    // If the daemon no longer has the newest shown request, it returns all requests.
    const after = newest === undefined ? '' : `&after=${encodeURIComponent(newest.id)}`
    /** @type {{ requests: readonly RequestDocument[] }} */
    const { requests } = await ask(`requests?limit=${listLength}${after}`)
    const known = new Set(requests.map(({ id }) => id))
    rows = [...requests, ...rows.filter(({ id }) => !known.has(id))].slice(0, listLength)
    if (requests.length > 0 || newest === undefined) render()
    if (performance.now() - usageReadAt > usageMs) {
      usageReadAt = performance.now()
      /** @type {{ totals: { by_day: readonly DayTotals[], by_session: { last_7_days: readonly SessionTotals[] } }, budgets?: readonly Budget[] }} */
      const { totals, budgets } = await ask('usage?partial=true')
      chart.replaceChildren(
        budgetBars(budgets ?? []),
        usageChart(toDays(totals.by_day, chartDays, new Date())),
        sessionTable(totals.by_session.last_7_days),
      )
    }
  }

  function render() {
    setChoices(
      client,
      rows.map((row) => row.client),
    )
    setChoices(
      model,
      rows.map((row) => row.model ?? row.asked_model),
    )
    const shown = rows.filter(
      (row) =>
        (client.value === '' || row.client === client.value) &&
        (model.value === '' || row.model === model.value || row.asked_model === model.value) &&
        (!failedOnly.checked || row.failed),
    )
    updateRows(shown.map((row) => ({ key: row.id, row })))
    count.textContent =
      shown.length === rows.length
        ? plural(rows.length, 'request')
        : `${toCount(shown.length)} of ${plural(rows.length, 'request')}`
    table.hidden = shown.length === 0
    empty.hidden = shown.length > 0
    empty.textContent =
      rows.length === 0 ? 'No requests yet. They are listed when they have ended.' : 'No request matches the filter.'
  }

  return {
    node,
    focus: () => title.focus(),
    /** @param {string} id a request to open, or '' for only the list */
    show(id) {
      const wasShown = isShown
      isShown = true
      if (!wasShown) void refresh()
      if (id === '') dialog.hide()
      else void dialog.show(id)
    },
    hide() {
      isShown = false
      clearTimeout(timer)
      dialog.hide()
    },
  }
}

/**
 * @param {HTMLSelectElement} select
 * @param {readonly (string | null)[]} values
 */
function setChoices(select, values) {
  const known = new Set([...select.options].map(({ value }) => value))
  const names = [...new Set(values.map((value) => value ?? ''))].toSorted()
  for (const name of names)
    if (name !== '' && !known.has(name)) select.append(element('option', { value: name }, toVisible(name)))
}

/** @param {{ readonly key: string, readonly row: RequestDocument }} item */
function rowView({ row }) {
  const { status, failed, model, asked_model: asked, repeated_warnings: repeated, adapted } = row
  const warnings = row.warnings.filter((warning) => !repeated.includes(warning))
  const name = model ?? asked ?? '–'
  const open = element('a', { href: `#/requests/${encodeURIComponent(row.id)}`, title: row.time }, toClock(row.time))
  const cells = [
    open,
    toVisible(row.client ?? '–'),
    element(
      'span',
      { title: row.route ?? '' },
      toVisible(name),
      asked !== null && asked !== name && element('span', { class: 'muted' }, ` as ${toVisible(asked)}`),
    ),
    element('span', { class: failed ? 'status bad' : 'status' }, String(status)),
    row.input_tokens === null ? '–' : `${toShortCount(row.input_tokens)} / ${toShortCount(row.output_tokens ?? 0)}`,
    row.credits === null ? '–' : `${row.estimated ? '~' : ''}${toCredits(row.credits)}`,
    row.first_byte_ms === null ? '–' : toDuration(row.first_byte_ms),
    row.duration_ms === null ? '–' : toDuration(row.duration_ms),
    element(
      'span',
      { class: 'badges' },
      warnings.length > 0 &&
        element('span', { class: 'tag warn', title: warnings.join('\n') }, plural(warnings.length, 'warning')),
      adapted.length > 0 && element('span', { class: 'tag', title: adapted.join('\n') }, `${adapted.length} adapted`),
    ),
  ]
  return {
    node: element('tr', {}, ...cells.map((cell, at) => element('td', { class: classOf(columns[at] ?? '') }, cell))),
  }
}

/** @param {string} column */
function classOf(column) {
  const name = column.toLowerCase().replaceAll(' ', '-')
  return /^(?:tokens|credits|first-byte|duration)$/.test(name) ? `column-${name} number` : `column-${name}`
}
