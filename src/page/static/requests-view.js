/** @import { RequestDocument } from '../../api/requests.ts' */
import { ask } from './api.js'
import { commandLine } from './command-line.js'
import { createList, element } from './dom.js'
import { plural, toClock, toCount, toCredits, toDuration, toShortCount } from './format.js'
import { createRequestDialog } from './request-dialog.js'
import { creditsOf } from './request-words.js'
import { createView, dataTable } from './view.js'
import { toVisible } from './visible-text.js'

/** Number of requests that the page reads and shows. */
const listLength = 200
/** Interval between two reads of the list. Ms. */
const refreshMs = 2000

const columns = /** @type {const} */ ([
  ['Time'],
  ['Client'],
  ['Model'],
  ['Status'],
  ['Tokens', 'number'],
  ['Credits', 'number'],
  ['First byte', 'number'],
  ['Duration', 'number'],
  ['Notes'],
])

/**
 * Shows the last requests through the proxy.
 * @param {(error: unknown) => void} onFailure
 */
export function createRequestsView(onFailure) {
  /** Newest first. @type {readonly RequestDocument[]} */
  let rows = []

  const client = filterSelect('request-client')
  const model = filterSelect('request-model')
  const failedOnly = element('input', { type: 'checkbox', id: 'request-failed', change: render })
  const isLive = element('input', {
    type: 'checkbox',
    id: 'request-live',
    checked: true,
    change: () => void view.refresh(),
  })
  const reload = element('button', { type: 'button', class: 'quiet', click: () => void view.refresh() }, 'Refresh')
  const count = element('p', { class: 'muted', role: 'status' })
  const body = element('tbody')
  const updateRows = createList(body, rowView)
  const frame = dataTable('The last requests, newest first', columns, body, 'stacked requests')
  const empty = element('p', { class: 'empty', hidden: true }, 'No request matches the filter.')
  const first = element(
    'div',
    { class: 'first-step', hidden: true },
    element('h3', {}, 'No requests yet'),
    element('p', {}, 'A request is listed when it has ended. Start a client through copilot-proxy:'),
    commandLine('copilot-proxy launch claude'),
    element('p', {}, element('a', { href: '#/clients' }, 'All clients and SDKs')),
  )
  const dialog = createRequestDialog(() => {
    if (location.hash.startsWith('#/requests/')) location.hash = '#/requests'
  })
  const view = createView(
    { title: 'Requests', read, everyMs: () => (isLive.checked ? refreshMs : Infinity), onFailure },
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
      count,
    ),
    frame,
    empty,
    first,
    dialog.node,
  )

  /** @param {string} id */
  function filterSelect(id) {
    return element('select', { id, change: render }, element('option', { value: '' }, 'All'))
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
    frame.hidden = shown.length === 0
    empty.hidden = shown.length > 0 || rows.length === 0
    first.hidden = rows.length > 0
  }

  return {
    ...view,
    /** @param {string} id a request to open, or '' for only the list */
    show(id) {
      view.show()
      if (id === '') dialog.hide()
      else void dialog.show(id)
    },
    hide() {
      view.hide()
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
  const cost = creditsOf(row)
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
    cost === null ? '–' : `${row.estimated ? '~' : ''}${toCredits(cost)}`,
    row.first_byte_ms === null ? '–' : toDuration(row.first_byte_ms),
    row.duration_ms === null ? '–' : toDuration(row.duration_ms),
    element('span', { class: 'row-notes' }, ...notesOf(row.error, warnings, adapted)),
  ]
  return {
    node: element(
      'tr',
      {},
      ...columns.map(([column, kind], at) =>
        // On a narrow screen, a number stands below the name of its column.
        element('td', { class: kind, 'data-label': kind && column }, cells[at]),
      ),
    ),
  }
}

/**
 * What happened to the request, in words: why it failed, and what was dropped or changed.
 * @param {string | null} error
 * @param {readonly string[]} warnings
 * @param {readonly string[]} adapted
 */
function notesOf(error, warnings, adapted) {
  const [first = '', ...others] = warnings
  return [
    error !== null && element('span', { class: 'bad-text' }, error),
    first !== '' && element('span', { class: 'warn-text' }, toSentence(first)),
    others.length > 0 && element('span', { class: 'muted', title: others.join('\n') }, `and ${others.length} more`),
    adapted.length > 0 &&
      element('span', { class: 'muted', title: adapted.join('\n') }, `${adapted.length} adapted without loss`),
  ]
}

/** @param {string} warning `dropped;temperature (why)` becomes `dropped temperature (why)` */
function toSentence(warning) {
  return warning.replace(/^(\w+);/, '$1 ')
}
