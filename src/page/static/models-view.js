/** @import { ModelList, ModelRow, TierPrices } from '../../api/models.ts' */
import { ask } from './api.js'
import { ownerAction } from './command-line.js'
import { element, replaceChildren } from './dom.js'
import { plural, toCount, toCredits, toShortCount } from './format.js'
import { createModelDialog } from './model-dialog.js'
import { createView, dataTable } from './view.js'

const refreshMs = 60_000

/** @satisfies {Record<keyof ModelRow['copilot_proxy']['routes'], string>} */
const apis = { chat: 'Chat', responses: 'Responses', messages: 'Messages' }

/**
 * The models with their limits, prices and APIs.
 * @param {(error: unknown) => void} onFailure
 */
export function createModelsView(onFailure) {
  /** @type {readonly ModelRow[]} */
  let rows = []
  let shown = ''
  const search = element('input', {
    id: 'model-search',
    type: 'search',
    placeholder: 'Name, maker, “images”, “long context” …',
    autocomplete: 'off',
    spellcheck: 'false',
    input: render,
  })
  const count = element('p', { class: 'muted', role: 'status' })
  const notice = element('p', { class: 'notice', hidden: true })
  const body = element('tbody')
  const table = dataTable(
    'Models',
    [
      ['Model'],
      ['Prompt', 'number'],
      ['Answer', 'number'],
      ['Input price', 'number'],
      ['Output price', 'number'],
      ['APIs'],
      ['State'],
    ],
    body,
    'models-table stacked',
  )
  const empty = element('p', { class: 'empty', hidden: true }, 'No model matches the search.')
  const dialog = createModelDialog(() => void view.refresh())
  const view = createView(
    {
      title: 'Models',
      lead: 'Limits in tokens, prices in credits per million tokens (a credit is US$0.01). An API with a dashed border is translated.',
      read,
      everyMs: () => refreshMs,
      onFailure,
    },
    notice,
    element(
      'form',
      { class: 'filters', role: 'search', submit: (/** @type {SubmitEvent} */ event) => event.preventDefault() },
      element('div', { class: 'field grow' }, element('label', { for: 'model-search' }, 'Search'), search),
      count,
    ),
    table,
    empty,
    dialog.node,
  )

  async function read() {
    /** @type {ModelList} */
    const { data, disabled = [] } = await ask('v1/models?include=disabled')
    rows = [...data, ...disabled]
    const isBuiltIn = rows.some(({ copilot_proxy: { source } }) => source === 'seed')
    notice.hidden = !isBuiltIn
    notice.replaceChildren(
      'Some of these are from a built-in list. ',
      element('a', { href: '#/logins' }, 'Log in'),
      ' to see the models of your account.',
    )
    render()
  }

  function render() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const found = rows.filter((row) => {
      const text = textOf(row)
      return words.every((word) => text.includes(word))
    })
    count.textContent =
      found.length === rows.length
        ? plural(rows.length, 'model')
        : `${toCount(found.length)} of ${plural(rows.length, 'model')}`
    table.hidden = found.length === 0
    empty.hidden = found.length > 0
    const next = JSON.stringify(found)
    if (next !== shown)
      replaceChildren(
        body,
        found.map((row) => rowView(row, (id) => void dialog.show(id))),
      )
    shown = next
  }

  return view
}

/** @param {ModelRow} row the text that a search looks at */
function textOf({ id, owned_by: owner, copilot_proxy: facts }) {
  const { tool_calls: tools, vision, reasoning_effort: levels } = facts.capabilities
  return [
    id,
    owner,
    facts.name,
    facts.family,
    facts.provider,
    facts.type,
    tools === true && 'tools',
    vision === true && 'images vision',
    levels !== null && 'reasoning thinking',
    facts.long_context !== null && 'long context',
    facts.preview && 'preview',
    isOpen(facts) ? 'enabled' : 'disabled',
  ]
    .filter(Boolean)
    .join(' ')
    .toLowerCase()
}

/** @param {ModelRow['copilot_proxy']} facts */
function isOpen({ policy }) {
  return policy === null || policy === 'enabled'
}

/**
 * @param {ModelRow} row
 * @param {(id: string) => void} enable
 */
function rowView({ id, copilot_proxy: facts }, enable) {
  const { alias_of: alias, fallbacks, name, notices, prices, long_context: long } = facts
  const { tool_calls: tools, vision, reasoning_effort: levels } = facts.capabilities
  const tags = [
    facts.provider === 'codex' && 'Codex',
    facts.type !== 'chat' && facts.type,
    facts.preview && 'preview',
    tools === true && 'tools',
    vision === true && 'images',
    levels !== null && levels.length > 0 && 'reasoning',
  ]
  const note = alias === null ? (name === id ? '' : name) : `alias of ${[alias, ...fallbacks].join(', then ')}`
  const longText =
    long === null
      ? ''
      : `${long.id} takes ${long.max_prompt_tokens === null ? 'more' : toShortCount(long.max_prompt_tokens)}`
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      element('span', { class: 'model-id' }, id),
      element(
        'span',
        { class: 'badges' },
        ...tags.map((tag) => tag !== false && element('span', { class: 'tag' }, tag)),
      ),
      ...[note, longText].map((text) => text !== '' && element('span', { class: 'muted note-text' }, text)),
      ...notices.map(({ level, message }) =>
        element('span', { class: level === 'warning' ? 'warn-text note-text' : 'muted note-text' }, message),
      ),
    ),
    element('td', { class: 'number', 'data-label': 'Prompt' }, limit(facts.max_prompt_tokens ?? facts.context_window)),
    element('td', { class: 'number', 'data-label': 'Answer' }, limit(facts.max_output_tokens)),
    priceCell('Input price', prices, ({ input }) => input),
    priceCell('Output price', prices, ({ output }) => output),
    element('td', { 'data-label': 'APIs' }, element('span', { class: 'badges' }, ...apisOf(facts))),
    element('td', { 'data-label': 'State' }, ...stateOf(id, facts, enable)),
  )
}

/** @param {number | null} tokens */
function limit(tokens) {
  return tokens === null ? '–' : toShortCount(tokens)
}

/**
 * @param {string} label
 * @param {ModelRow['copilot_proxy']['prices']} prices
 * @param {(tier: TierPrices) => number | null} of
 */
function priceCell(label, prices, of) {
  const [normal, long] = [prices?.default, prices?.long_context].map((tier) => (tier ? of(tier) : null))
  return element(
    'td',
    { class: 'number', 'data-label': label },
    normal === null || normal === undefined ? '–' : toCredits(normal),
    long !== null && long !== undefined && element('span', { class: 'muted note-text' }, `${toCredits(long)} if long`),
  )
}

/** @param {ModelRow['copilot_proxy']} facts */
function apisOf({ routes, type }) {
  const served = /** @type {const} */ (['chat', 'responses', 'messages']).flatMap((caller) => {
    const upstream = routes[caller]
    if (upstream === null) return []
    if (upstream === caller) return [element('span', { class: 'tag' }, apis[caller])]
    const how = `, translated to ${apis[upstream]}`
    const hidden = element('span', { class: 'visually-hidden' }, how)
    return [element('span', { class: 'tag translated', title: apis[caller] + how }, apis[caller], hidden)]
  })
  return served.length === 0
    ? [element('span', { class: 'muted' }, type === 'embeddings' ? 'Embeddings' : '–')]
    : served
}

/**
 * @param {string} id
 * @param {ModelRow['copilot_proxy']} facts
 * @param {(id: string) => void} enable
 */
function stateOf(id, facts, enable) {
  if (isOpen(facts)) return [element('span', { class: 'good-text' }, 'Enabled')]
  return [
    element('span', { class: 'muted' }, facts.policy === 'disabled' ? 'Disabled' : `Closed (${facts.policy})`),
    ownerAction(
      element('button', { type: 'button', 'aria-label': `Enable ${id}`, click: () => enable(id) }, 'Enable …'),
      `copilot-proxy models enable ${id}`,
    ),
  ]
}
