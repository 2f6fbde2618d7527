/** @import { UsageReport } from '../../api/usage.ts' */
import { ask } from './api.js'
import { commandLine, ownerAction } from './command-line.js'
import { element, replaceChildren } from './dom.js'
import { plural, toCount, toCredits, toDateTime, toShortCount, toShortDay, toUntil } from './format.js'
import { bar, planBar } from './usage-bars.js'
import { createUsageChart } from './usage-chart.js'
import { toDays, toMonthShare } from './usage-days.js'
import { createUsageTable } from './usage-table.js'
import { createView } from './view.js'

const chartDays = 30
const refreshMs = 10_000

/**
 * Quota, budgets and use at a glance.
 * @param {(error: unknown) => void} onFailure
 */
export function createOverviewView(onFailure) {
  const first = element('div', { class: 'first-step', hidden: true })
  const cards = element('div', { class: 'cards' })
  const chart = createUsageChart()
  const table = createUsageTable()
  /** The cards as they are shown. */
  let shown = ''

  const view = createView(
    { title: 'Overview', name: 'overview', read, everyMs: () => refreshMs, onFailure },
    first,
    cards,
    chart.node,
    table.node,
  )

  async function read() {
    /** @type {UsageReport} */
    const usage = await ask('usage?partial=true')
    const { by_day: days, by_key: keys, by_session: sessions, ...models } = usage.totals
    const step = firstStep(usage)
    first.hidden = step === undefined
    if (step !== undefined && first.dataset['step'] !== step.name) {
      first.dataset['step'] = step.name
      replaceChildren(first, step.nodes())
    }
    // Cards that did not change stay, for what is selected in them.
    const next = JSON.stringify([usage, Math.floor(Date.now() / 60_000)])
    if (next !== shown)
      replaceChildren(
        cards,
        cardsOf(usage, () => void lift()),
      )
    shown = next
    chart.update(toDays(days, chartDays, new Date()))
    table.update({ models, keys, sessions })
  }

  async function lift() {
    try {
      await ask('usage/allow', { method: 'POST' })
      await view.refresh()
    } catch (error) {
      view.fail(error)
    }
  }

  return view
}

/** @param {UsageReport} usage */
function firstStep({ problem, problem_code: code, totals }) {
  if (code === 'copilot_unavailable') {
    return {
      name: 'login',
      nodes: () => [
        element('h3', {}, 'Log in first'),
        element('p', {}, problem ?? ''),
        element('p', {}, element('a', { class: 'button primary', href: '#/logins' }, 'Go to the logins')),
      ],
    }
  }
  if (totals.by_day.every(({ requests }) => requests === 0)) {
    return {
      name: 'client',
      nodes: () => [
        element('h3', {}, 'No requests yet'),
        element('p', {}, 'Start a client through copilot-proxy, for example Claude Code:'),
        commandLine('copilot-proxy launch claude'),
        element('p', {}, element('a', { href: '#/clients' }, 'All clients and SDKs')),
      ],
    }
  }
  return undefined
}

/**
 * @param {UsageReport} usage
 * @param {() => void} lift
 */
function cardsOf(usage, lift) {
  return [...planCards(usage), ...codexCards(usage), ...budgetCards(usage, lift), todayCard(usage), monthCard(usage)]
}

/**
 * @param {string} title
 * @param {string} aside
 * @param {...(Node | false | undefined)} children
 */
function card(title, aside, ...children) {
  return element(
    'section',
    { class: 'card' },
    element('header', {}, element('h3', {}, title), element('span', { class: 'muted' }, aside)),
    ...children,
  )
}

/**
 * @param {string} value
 * @param {string} unit
 */
function figure(value, unit) {
  return element('p', { class: 'figure' }, element('strong', {}, value), ' ', element('span', {}, unit))
}

/** @param {UsageReport} usage */
function planCards({ login, plan_name: name, quotas = [], problem, problem_code: code, resets_at: resets, ...usage }) {
  if (quotas.length === 0) {
    if (problem === undefined || code === 'copilot_unavailable') return []
    return [card('GitHub Copilot', login ?? '', element('p', { class: 'muted' }, problem))]
  }
  const unit = usage.token_based_billing === true ? 'credits' : 'premium requests'
  const month = toMonthShare(resets, new Date())
  const reset =
    resets !== undefined &&
    element(
      'p',
      { class: 'muted', title: toDateTime(resets) },
      `Resets in ${toUntil(resets, new Date())}.${month === undefined ? '' : ` The mark is ${Math.round(month * 100)} % of the month.`}`,
    )
  return quotas
    .filter(({ id, unlimited }) => id === 'premium_interactions' || !unlimited)
    .map((quota) => {
      const { id, unlimited, entitlement, remaining, percent_remaining: percent, overage_count: over = 0 } = quota
      const what = id === 'premium_interactions' ? unit : id === 'chat' ? 'chat requests' : id
      const title = name ?? 'GitHub Copilot'
      if (unlimited) return card(title, login ?? '', figure('Unlimited', what), reset)
      const share = percent === undefined ? undefined : 1 - percent / 100
      const used = entitlement !== undefined && remaining !== undefined ? entitlement - remaining : undefined
      const amount =
        used === undefined || entitlement === undefined
          ? figure(share === undefined ? 'Unknown' : `${Math.round(share * 100)} %`, `of the ${what} used`)
          : figure(toCredits(used), `of ${toCount(entitlement)} ${what}`)
      return card(
        title,
        login ?? '',
        amount,
        share !== undefined && planBar(`${what} used`, share, month),
        reset,
        over > 0 && element('p', { class: 'warn-text' }, `${toCredits(over)} beyond the plan, which GitHub bills.`),
      )
    })
}

/** @param {UsageReport} usage */
function codexCards({ codex }) {
  if (codex === undefined || codex.windows.length === 0) return []
  return [
    card(
      'ChatGPT plan',
      codex.plan ?? '',
      ...codex.windows.flatMap(({ used_percent: percent, minutes, resets_at: resets }) => {
        const length =
          minutes >= 1440 ? plural(Math.round(minutes / 1440), 'day') : plural(Math.round(minutes / 60), 'hour')
        const until = resets === undefined ? '' : `, resets in ${toUntil(resets, new Date())}`
        return [
          element('p', {}, `${Math.round(percent)} % of ${length} used${until}`),
          bar(`Share of ${length} used`, percent / 100, percent > 90 ? 'bad' : percent > 75 ? 'warn' : ''),
        ]
      }),
    ),
  ]
}

/** @satisfies {Record<NonNullable<UsageReport['budgets']>[number]['state'], string>} */
const budgetTexts = {
  ok: '',
  warning: 'Nearly used up.',
  spent: 'Used up: requests are refused.',
  lifted: 'Lifted until midnight.',
}

/**
 * @param {UsageReport} usage
 * @param {() => void} lift
 */
function budgetCards({ budgets = [] }, lift) {
  return budgets.map(({ period, limit, used, state }) => {
    const title = period === 'day' ? 'Your budget for today' : 'Your budget for this month'
    return card(
      title,
      '',
      figure(toCredits(used), `of ${toCredits(limit)} credits`),
      bar(title, used / limit, state === 'spent' ? 'bad' : state === 'warning' ? 'warn' : ''),
      state !== 'ok' && element('p', { class: state === 'lifted' ? 'muted' : 'warn-text' }, budgetTexts[state]),
      state === 'spent' &&
        ownerAction(
          element('button', { type: 'button', click: lift }, 'Allow requests until midnight'),
          'copilot-proxy usage allow',
        ),
    )
  })
}

/** @param {UsageReport} usage */
function todayCard({ totals: { today } }) {
  return sumCard('Today', '', sumOf(today))
}

/** @param {UsageReport} usage */
function monthCard({ totals: { month } }) {
  return sumCard('This billing month', `since ${toShortDay(month.since)}`, sumOf([month]))
}

/**
 * @param {string} title
 * @param {string} aside
 * @param {ReturnType<typeof sumOf>} sum
 */
function sumCard(title, aside, { requests, errors, input, output, credits, cached }) {
  const main = credits === undefined ? figure(toCount(requests), 'requests') : figure(toCredits(credits), 'credits')
  const facts = [
    ...(credits === undefined ? [] : [plural(requests, 'request')]),
    ...(errors === 0 ? [] : [`${toCount(errors)} failed`]),
  ]
  const tokens = `${toShortCount(input)} tokens in${input === 0 ? '' : ` (${Math.round((cached / input) * 100)} % from the cache)`}, ${toShortCount(output)} out`
  return card(
    title,
    aside,
    main,
    element('p', { class: 'muted' }, facts.length === 0 ? 'Through copilot-proxy' : facts.join(', ')),
    element('p', { class: 'muted' }, tokens),
  )
}

/** @param {readonly import('../../api/usage.ts').TotalsRow[]} rows */
function sumOf(rows) {
  const known = rows.flatMap(({ credits }) => (credits === null ? [] : [credits]))
  const add = (/** @type {(row: import('../../api/usage.ts').TotalsRow) => number} */ of) =>
    rows.reduce((sum, row) => sum + of(row), 0)
  return {
    requests: add(({ requests }) => requests),
    errors: add(({ errors }) => errors),
    input: add((row) => row.input_tokens),
    output: add((row) => row.output_tokens),
    cached: add((row) => row.cached_input_tokens),
    credits: known.length === 0 ? undefined : known.reduce((sum, credits) => sum + credits, 0),
  }
}
