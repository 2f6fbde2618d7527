/** A model of the simulated catalogue (docs/codex-wire.md, "Models"). */
export interface CodexModel {
  readonly slug: string
  readonly name: string
  readonly isHidden?: boolean
  readonly priority: number
  /** Tokens, in thousands. */
  readonly context: number
  readonly maxContext: number
  readonly defaultEffort: string
  /** As listed. `ultra` exists in the client only. */
  readonly efforts: readonly string[]
  readonly isLite: boolean
  readonly minClient: string
  readonly tiers: readonly string[]
  readonly plans: readonly string[]
  readonly upgrade?: string
  /** Accepts `reasoning.summary`. */
  readonly takesSummary: boolean
}

const TO_XHIGH = ['low', 'medium', 'high', 'xhigh']
const TO_MAX = [...TO_XHIGH, 'max']
const TO_ULTRA = [...TO_MAX, 'ultra']
const PAID = ['plus', 'pro', 'team', 'business', 'enterprise', 'edu']
/** Every known plan. */
export const ALL_PLANS = ['free', 'go', ...PAID]

const LITE = {
  context: 272,
  maxContext: 872,
  defaultEffort: 'medium',
  efforts: TO_MAX,
  isLite: true,
  tiers: ['priority'],
  plans: ALL_PLANS,
  takesSummary: true,
}
const STANDARD = { ...LITE, maxContext: 272, efforts: TO_XHIGH, isLite: false }

/** Figures follow the catalogue that Codex CLI 0.169 contains. */
export const CODEX_MODELS: readonly CodexModel[] = [
  {
    ...LITE,
    slug: 'gpt-6-astra',
    name: 'GPT-6 Astra',
    priority: 2,
    defaultEffort: 'low',
    efforts: TO_ULTRA,
    minClient: '0.153.0',
    plans: ['pro', 'enterprise'],
  },
  {
    ...LITE,
    slug: 'gpt-6-sol',
    name: 'GPT-6 Sol',
    priority: 3,
    efforts: TO_ULTRA,
    minClient: '0.155.0',
    plans: PAID,
  },
  { ...LITE, slug: 'gpt-6-luna', name: 'GPT-6 Luna', priority: 4, minClient: '0.155.0' },
  {
    ...LITE,
    slug: 'gpt-5.6-luna',
    name: 'GPT-5.6 Luna',
    priority: 9,
    minClient: '0.144.0',
    upgrade: 'gpt-6-luna',
    takesSummary: false,
  },
  { ...STANDARD, slug: 'gpt-5.5', name: 'GPT-5.5', priority: 13, minClient: '0.124.0', upgrade: 'gpt-6-sol' },
  // The real catalogue no longer has this model. It is here because the simulated Copilot has it too, so that both
  // providers offer one id.
  {
    ...STANDARD,
    slug: 'gpt-5.3-codex',
    name: 'GPT-5.3 Codex',
    priority: 20,
    minClient: '0.98.0',
    tiers: [],
    plans: PAID,
  },
  {
    ...LITE,
    slug: 'codex-auto-review',
    name: 'Codex Auto Review',
    isHidden: true,
    priority: 43,
    minClient: '0.98.0',
    takesSummary: false,
  },
]

/** The model's entry in `GET /backend-api/codex/models`. */
export function toEntry(model: CodexModel): Record<string, unknown> {
  return {
    slug: model.slug,
    display_name: model.name,
    description: 'Simulated by copilot-proxy --demo.',
    visibility: model.isHidden === true ? 'hide' : 'list',
    priority: model.priority,
    supported_in_api: true,
    context_window: model.context * 1000,
    max_context_window: model.maxContext * 1000,
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
    // In the real list, this is the long prompt text of OpenAI's client, which the proxy must not pass on.
    base_instructions: 'You are a simulated coding agent. '.repeat(40),
  }
}
