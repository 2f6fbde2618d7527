/** @import { KeyList, KeyRow } from '../../api/keys.ts' */
import { ask } from './api.js'
import { commandLine } from './command-line.js'
import { element, replaceChildren } from './dom.js'
import { toCount, toCredits, toShortDay } from './format.js'
import { createView, dataTable } from './view.js'

const refreshMs = 10_000

/**
 * The keys with their limits and their use.
 * @param {(error: unknown) => void} onFailure
 */
export function createKeysView(onFailure) {
  let shown = ''
  const body = element('tbody')
  const table = dataTable(
    'Keys',
    [['Name'], ['Limits'], ['Last used'], ['Requests in 30 days', 'number'], ['Credits', 'number'], ['Remove it']],
    body,
    'stacked',
  )
  const empty = element(
    'div',
    { class: 'first-step', hidden: true },
    element('h3', {}, 'There are no keys'),
    element(
      'p',
      {},
      'Every program of your user on this machine may call. With keys, each program has its own limits and its own figures, and other machines can call.',
    ),
  )
  return createView(
    {
      title: 'Keys',
      lead: 'The configuration has only their hashes, so a key is shown once: when it is made.',
      read,
      everyMs: () => refreshMs,
      onFailure,
    },
    empty,
    table,
    element('section', { class: 'card' }, element('h3', {}, 'Add a key'), commandLine('copilot-proxy key add NAME')),
  )

  async function read() {
    /** @type {KeyList} */
    const { keys } = await ask('keys')
    empty.hidden = keys.length > 0
    table.hidden = keys.length === 0
    const next = JSON.stringify(keys)
    if (next !== shown) replaceChildren(body, keys.map(rowView))
    shown = next
  }
}

/** @param {KeyRow} row */
function rowView({ name, stored, requests, credits, last_day: last, ...limits }) {
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      name,
      stored === 'plain' && element('span', { class: 'warn-text note-text' }, 'in the configuration as plain text'),
    ),
    element('td', { 'data-label': 'Limits' }, limitsOf(limits)),
    element('td', { 'data-label': 'Last used' }, last === null ? 'not in 30 days' : toShortDay(last)),
    element('td', { class: 'number', 'data-label': 'Requests in 30 days' }, toCount(requests)),
    element('td', { class: 'number', 'data-label': 'Credits' }, credits === null ? '–' : toCredits(credits)),
    element('td', { 'data-label': 'Remove it' }, commandLine(`copilot-proxy key remove ${name}`)),
  )
}

/** @param {Omit<KeyRow, 'name' | 'stored' | 'requests' | 'credits' | 'last_day'>} limits */
function limitsOf({ requests_per_minute: rate, credits_per_day: credits, models, account }) {
  const texts = [
    rate !== null && `${toCount(rate)} requests per minute`,
    credits !== null && `${toCredits(credits)} credits per day`,
    models !== null && `models ${models.join(', ')}`,
    account !== null && `account ${account}`,
  ]
  return texts.filter((text) => text !== false).join('; ') || 'none'
}
