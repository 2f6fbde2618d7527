import { jsonReply } from '../outcome.ts'
import type { Outcome } from '../outcome.ts'
import { detail } from './failures.ts'
import type { CodexPerson } from './tokens.ts'

/** A model of the simulated catalogue (docs/codex-wire.md, "Models"). */
export interface CodexModel {
  readonly slug: string
  readonly name: string
  readonly isHidden?: boolean
  readonly priority: number
  /** Tokens, in thousands. */
  readonly context: number
  readonly maxContext?: number
  readonly defaultEffort: string
  /** As listed; `ultra` among them is the client's own notion. */
  readonly efforts: readonly string[]
  readonly isLite: boolean
  readonly minClient: string
  readonly tiers: readonly string[]
  readonly plans: readonly string[]
  readonly upgrade?: string
  /** Takes `reasoning.summary`. */
  readonly takesSummary: boolean
}

const TO_XHIGH = ['low', 'medium', 'high', 'xhigh']
const TO_MAX = [...TO_XHIGH, 'max']
const TO_ULTRA = [...TO_MAX, 'ultra']
const PAID = ['plus', 'pro', 'team', 'business', 'enterprise', 'edu']
const ALL = ['free', 'go', ...PAID]

/** Figures after the catalogue that Codex CLI 0.169 carries. */
export const CODEX_MODELS: readonly CodexModel[] = [
  {
    slug: 'gpt-6-astra',
    name: 'GPT-6 Astra',
    priority: 2,
    context: 272,
    maxContext: 872,
    defaultEffort: 'low',
    efforts: TO_ULTRA,
    isLite: true,
    minClient: '0.153.0',
    tiers: ['priority'],
    plans: ['pro', 'enterprise'],
    takesSummary: true,
  },
  {
    slug: 'gpt-6-sol',
    name: 'GPT-6 Sol',
    priority: 3,
    context: 272,
    maxContext: 872,
    defaultEffort: 'medium',
    efforts: TO_ULTRA,
    isLite: true,
    minClient: '0.155.0',
    tiers: ['priority'],
    plans: PAID,
    takesSummary: true,
  },
  {
    slug: 'gpt-6-luna',
    name: 'GPT-6 Luna',
    priority: 4,
    context: 272,
    maxContext: 872,
    defaultEffort: 'medium',
    efforts: TO_MAX,
    isLite: true,
    minClient: '0.155.0',
    tiers: ['priority'],
    plans: ALL,
    takesSummary: true,
  },
  {
    slug: 'gpt-5.6-luna',
    name: 'GPT-5.6 Luna',
    priority: 9,
    context: 272,
    maxContext: 872,
    defaultEffort: 'medium',
    efforts: TO_MAX,
    isLite: true,
    minClient: '0.144.0',
    tiers: ['priority'],
    plans: ALL,
    upgrade: 'gpt-6-luna',
    takesSummary: false,
  },
  {
    slug: 'gpt-5.5',
    name: 'GPT-5.5',
    priority: 13,
    context: 272,
    defaultEffort: 'medium',
    efforts: TO_XHIGH,
    isLite: false,
    minClient: '0.124.0',
    tiers: ['priority'],
    plans: ALL,
    upgrade: 'gpt-6-sol',
    takesSummary: true,
  },
  // Gone from the real catalogue; here because the simulated Copilot has it too, so that both providers offer one id.
  {
    slug: 'gpt-5.3-codex',
    name: 'GPT-5.3 Codex',
    priority: 20,
    context: 272,
    defaultEffort: 'medium',
    efforts: TO_XHIGH,
    isLite: false,
    minClient: '0.98.0',
    tiers: [],
    plans: PAID,
    takesSummary: true,
  },
  {
    slug: 'codex-auto-review',
    name: 'Codex Auto Review',
    isHidden: true,
    priority: 43,
    context: 272,
    maxContext: 872,
    defaultEffort: 'medium',
    efforts: TO_MAX,
    isLite: true,
    minClient: '0.98.0',
    tiers: ['priority'],
    plans: ALL,
    takesSummary: false,
  },
]

export function modelsOfPlan(plan: string): readonly CodexModel[] {
  return CODEX_MODELS.filter((model) => isInPlan(model, plan))
}

/** ETag of the list a person sees; replies of `/responses` repeat it as `x-models-etag`. */
export function modelsEtag({ plan }: Pick<CodexPerson, 'plan'>, revision: number): string {
  return `W/"demo-${plan}-${revision}"`
}

interface ListCall {
  /** With query. */
  readonly path: string
  readonly ifNoneMatch: string | undefined
  readonly person: CodexPerson
  readonly revision: number
}

/** `GET /backend-api/codex/models?client_version=`. */
export function answerModels({ path, ifNoneMatch, person, revision }: ListCall): Outcome {
  const version = new URL(path, 'http://127.0.0.1').searchParams.get('client_version')
  if (version === null || !/^\d+\.\d+\.\d+/.test(version)) {
    // The form of a validation list; that the real one answers so is a guess.
    return detail(422, [{ type: 'missing', loc: ['query', 'client_version'], msg: 'Field required' }])
  }
  const etag = modelsEtag(person, revision)
  if (ifNoneMatch === etag) return { kind: 'whole', status: 304, headers: { etag }, body: '' }
  const models = modelsOfPlan(person.plan).filter(({ minClient }) => !isNewer(minClient, version))
  return jsonReply(200, { models: models.map((model) => toEntry(model, revision)) }, { etag })
}

/** Plans nobody has heard of count as paid: the set is open. */
function isInPlan({ plans }: CodexModel, plan: string): boolean {
  return plans.includes(plan) || (!ALL.includes(plan) && plans.includes('plus'))
}

/** Whether version `a` is above version `b`, number by number. */
function isNewer(a: string, b: string): boolean {
  const [first, second] = [a, b].map((each) => each.split('.').map((part) => Number.parseInt(part, 10)))
  for (const at of [0, 1, 2]) {
    const difference = (first?.[at] ?? 0) - (second?.[at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}

function toEntry(model: CodexModel, revision: number): Record<string, unknown> {
  return {
    slug: model.slug,
    display_name: model.name,
    description: `Simulated by copilot-proxy --demo, revision ${revision}.`,
    visibility: model.isHidden === true ? 'hide' : 'list',
    priority: model.priority,
    supported_in_api: true,
    context_window: model.context * 1000,
    max_context_window: (model.maxContext ?? model.context) * 1000,
    input_modalities: ['text', 'image'],
    default_reasoning_level: model.defaultEffort,
    supported_reasoning_levels: model.efforts.map((effort) => ({ effort, description: `Effort ${effort}` })),
    support_verbosity: true,
    default_verbosity: 'low',
    supports_reasoning_summaries: model.takesSummary,
    supports_reasoning_summary_parameter: model.takesSummary,
    default_reasoning_summary: 'none',
    supports_parallel_tool_calls: true,
    use_responses_lite: model.isLite,
    service_tiers: model.tiers.map((id) => ({ id, name: 'Fast', description: 'Faster, for more of the limit.' })),
    upgrade: model.upgrade === undefined ? null : { model: model.upgrade },
    minimal_client_version: model.minClient,
    available_in_plans: model.plans,
    prefer_websockets: true,
    shell_type: 'shell_command',
    // Prompt text that belongs to OpenAI's client: long in the real list, and nothing to pass on.
    base_instructions: 'You are a simulated coding agent. '.repeat(40),
  }
}
