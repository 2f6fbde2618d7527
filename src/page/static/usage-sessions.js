/** @import { Budget, SessionTotals } from '../../api/usage.ts' */
import { element } from './dom.js'
import { toCount, toCredits, toShortCount } from './format.js'
import { toVisible } from './visible-text.js'

/** Sessions that the page shows. */
const maxSessions = 20

/** @satisfies {Record<Budget['state'], string>} */
const stateTexts = {
  ok: '',
  warning: 'Nearly used up.',
  spent: 'Used up: requests are refused. To go on today, run: copilot-proxy usage allow',
  lifted: 'Lifted until midnight.',
}

/**
 * Shows how much of the owner's budgets is used.
 * @param {readonly Budget[]} budgets
 */
export function budgetBars(budgets) {
  const lines = budgets.map(({ period, limit, used, state }) => {
    const label = `Budget for ${period === 'day' ? 'today' : 'this month'}`
    const amount = `${toCredits(used)} of ${toCredits(limit)} credits used`
    const text = [`${amount}.`, stateTexts[state]].filter(Boolean).join(' ')
    return element(
      'p',
      { class: state === 'ok' ? 'budget' : 'budget warn' },
      element('span', {}, label),
      element('meter', { min: 0, max: limit, value: used, 'aria-label': label }),
      element('span', { class: 'muted' }, text),
    )
  })
  return element('div', { class: 'budgets', hidden: lines.length === 0 }, ...lines)
}

/**
 * Shows the most expensive sessions of the last days as a table.
 * @param {readonly SessionTotals[]} sessions
 */
export function sessionTable(sessions) {
  const rows = sessions.slice(0, maxSessions).map((entry) => {
    const { session, client, key, last_day: lastDay, requests, input_tokens: read, output_tokens: written } = entry
    const cost = entry.credits === null ? '–' : `${entry.estimated ? '~' : ''}${toCredits(entry.credits)}`
    const texts = [client ?? '–', key ?? '–', lastDay]
    const values = [toCount(requests), `${toShortCount(read)} / ${toShortCount(written)}`, cost]
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, toVisible(session ?? '–')),
      ...texts.map((text) => element('td', {}, toVisible(text))),
      ...values.map((value) => element('td', { class: 'number' }, value)),
    )
  })
  const names = ['Session', 'Client', 'Key', 'Last day', 'Requests', 'Tokens', 'Credits']
  return element(
    'details',
    { class: 'session-usage', hidden: rows.length === 0 },
    element('summary', {}, 'Sessions of the last 7 days'),
    element(
      'div',
      { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': 'Sessions of the last 7 days' },
      element(
        'table',
        { class: 'plain' },
        element('thead', {}, element('tr', {}, ...names.map((name) => element('th', { scope: 'col' }, name)))),
        element('tbody', {}, ...rows),
      ),
    ),
  )
}
