import type { ModelRow, TierPrices } from '../../api/models.ts'
import { createAliasTable, isPattern, matchesGlob, providerOfName } from '../../models/names.ts'
import type { Aliases } from '../../models/names.ts'
import { shortCount } from '../../terminal/format.ts'
import type { Output } from '../../terminal/output.ts'
import { formatPairs, wrapText } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import { settingsPage } from './settings-page.ts'

type Facts = ModelRow['copilot_proxy']

/** Which rule of docs/models.md, "Names", led from a name to its model. */
export interface Resolution {
  readonly requestedName: string
  readonly resolvedBy: 'id' | 'alias' | 'alias_pattern' | 'spelling'
  /** `alias_pattern` only. */
  readonly pattern?: string
}

export function explainName(name: string, { id, copilot_proxy: facts }: ModelRow, aliases: Aliases): Resolution {
  const by = (resolvedBy: Resolution['resolvedBy']): Resolution => ({ requestedName: name, resolvedBy })
  if (facts.alias_of !== null) return by('alias')
  if (id === name || `${facts.provider}/${id}` === name) return by('id')
  const table = createAliasTable(aliases)
  if (table.targetsOf(name) === undefined || providerOfName(name) !== undefined) return by('spelling')
  const [pattern] = table.all
    .map(([alias]) => alias)
    .filter((alias) => isPattern(alias) && matchesGlob(alias, name))
    .toSorted((a, b) => b.length - a.length)
  return pattern === undefined ? by('alias') : { ...by('alias_pattern'), pattern }
}

/** Names of the user's that lead to a model. */
export interface LeadingNames {
  /** Also patterns. */
  readonly aliases: readonly string[]
  /** Aliases that ask the model after another one has failed. */
  readonly fallbackOf: readonly string[]
}

export function namesLeadingTo({ id, copilot_proxy: facts }: ModelRow, aliases: Aliases): LeadingNames {
  const listed = facts.alias_of ?? id
  const names = new Set([listed, `${facts.provider}/${listed}`])
  const { all } = createAliasTable(aliases)
  const withTarget = (leads: (targets: readonly string[]) => boolean) =>
    all.flatMap(([alias, targets]) => (leads(targets) ? [alias] : []))
  return {
    aliases: withTarget(([first = '']) => names.has(first)),
    fallbackOf: withTarget(([, ...rest]) => rest.some((target) => names.has(target))),
  }
}

export function oneModelText(
  row: ModelRow,
  resolution: Resolution,
  { aliases, fallbackOf }: LeadingNames,
  { columns, style }: Pick<Output, 'columns' | 'style'>,
): string {
  const { id, owned_by: owner, copilot_proxy: facts } = row
  const maker = owner === 'github-copilot' ? '' : ` by ${owner}`
  const isClosed = facts.policy !== null && facts.policy !== 'enabled'
  const pairs: readonly (readonly [label: string, value: string])[] = [
    ['Model', visible(`${facts.name || id}${maker}`)],
    ['Provider', visible(facts.provider)],
    ['Type', facts.type === 'chat' ? '' : visible(facts.type)],
    ['Fallbacks', list(facts.fallbacks)],
    ['State', visible(isClosed ? `${facts.policy}; enable it at ${settingsPage}` : facts.preview ? 'preview' : '')],
    ['Context window', tokens(facts.context_window)],
    ['Longest prompt', tokens(facts.max_prompt_tokens)],
    ['Longest answer', tokens(facts.max_output_tokens)],
    ['Long context', longContextText(facts)],
    ['Price', priceText(facts.context_tier === 'long' ? facts.prices?.long_context : facts.prices?.default)],
    ['  long context', facts.long_context === null ? '' : priceText(facts.prices?.long_context)],
    ['Premium requests', facts.premium_multiplier === null ? '' : `${facts.premium_multiplier} per request`],
    ['Capabilities', list(capabilitiesOf(facts))],
    ['Thinking levels', list(facts.capabilities.reasoning_effort ?? [])],
    ['Client APIs', list(clientApis(facts))],
    ['Provider APIs', list(facts.endpoints)],
    ['Texts per request', facts.max_inputs === null ? '' : String(facts.max_inputs)],
    ['Aliases', list(aliases.filter((alias) => alias !== id))],
    ['Fallback of', list(fallbackOf.filter((alias) => alias !== id))],
    ...facts.notices.map(({ level, message }) => [level === 'warning' ? 'Warning' : 'Note', visible(message)] as const),
  ]
  const how = resolutionText(row, resolution)
  return (
    `${style.bold(visible(id))}\n` +
    (how === '' ? '' : wrapText(how, columns)) +
    `\n${formatPairs(pairs, style, columns)}` +
    (facts.source === 'seed'
      ? `\n${wrapText('These details are from a built-in list. Log in to see those of your account: copilot-proxy login', columns)}`
      : '')
  )
}

function resolutionText(
  { id, copilot_proxy: facts }: ModelRow,
  { requestedName, resolvedBy, pattern = '' }: Resolution,
): string {
  const [name, listed] = [visible(requestedName), visible(id)]
  switch (resolvedBy) {
    case 'id':
      return ''
    case 'alias':
      return `"${name}" is your alias for ${visible(facts.alias_of ?? id)}.`
    case 'alias_pattern':
      return `"${name}" matches your alias ${visible(pattern)} for ${listed}.`
    case 'spelling':
      return `"${name}" is another spelling of ${listed}.`
  }
}

function list(items: readonly string[]): string {
  return items.map(visible).join(', ')
}

/** '' if unknown. */
function tokens(count: number | null): string {
  return count === null ? '' : `${shortCount(count)} tokens`
}

function longContextText({ long_context: long }: Facts): string {
  if (long === null) return ''
  const size = tokens(long.max_prompt_tokens ?? long.context_window)
  return visible(size === '' ? long.id : `${long.id}, up to ${size}`)
}

function priceText(prices: TierPrices | null | undefined): string {
  if (!prices) return ''
  const { input, output, cache_read: read, cache_write: write } = prices
  const parts = [
    [input, 'input'],
    [output, 'output'],
    [read, 'cache reads'],
    [write, 'cache writes'],
  ] as const
  const known = parts.flatMap(([credits, what]) => (credits === null ? [] : [`${Number(credits.toFixed(2))} ${what}`]))
  return known.length === 0 ? '' : `${known.join(', ')} (credits per million tokens)`
}

function capabilitiesOf({ capabilities }: Facts): readonly string[] {
  return [
    ...(capabilities.tool_calls ? ['tools'] : []),
    ...(capabilities.parallel_tool_calls ? ['parallel tools'] : []),
    ...(capabilities.vision ? ['images'] : []),
    ...(capabilities.structured_outputs ? ['structured outputs'] : []),
  ]
}

const apiNames = { chat: 'Chat Completions', responses: 'Responses', messages: 'Messages' } as const

/** `Responses, Messages (translated to Responses)`. */
function clientApis({ routes }: Facts): readonly string[] {
  return (['chat', 'responses', 'messages'] as const).flatMap((caller) => {
    const upstream = routes[caller]
    if (upstream === null) return []
    return upstream === caller ? [apiNames[caller]] : [`${apiNames[caller]} (translated to ${apiNames[upstream]})`]
  })
}
