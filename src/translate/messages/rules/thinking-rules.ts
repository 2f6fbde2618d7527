import { toFormatSchema, withJsonHint } from './format-schema.ts'
import { planThinking, type ThinkingPlan } from './thinking-plan.ts'
import { BINDING_BETA, withBeta } from './beta-rules.ts'
import { toolLoopLacksThought } from './order-rules.ts'
import type { Warning } from '../../warning.ts'
import type { MessagesRequest } from '../wire.ts'
import type { Rule } from './rule.ts'
import type { Target } from './target.ts'

type Thinking = MessagesRequest['thinking']

/** Values of `thinking.display` that need no beta. Source: Anthropic API reference, extended thinking, 2026-11. */
const DISPLAYS = new Set(['summarized', 'omitted'])

/** Runs before the budget of thinking is chosen. */
const maxTokensRule: Rule = {
  name: 'max_tokens lowered',
  source: 'messages, max_tokens',
  adapt: ({ body }, { maxTokens, traits }) => {
    if ((body.max_tokens ?? 0) <= maxTokens) return undefined
    const detail = `above the limit of ${traits.id}; lowered to ${maxTokens}`
    return { patch: { max_tokens: maxTokens }, warnings: [{ code: 'clamped', field: 'max_tokens', detail }] }
  },
}

type Sampling = 'temperature' | 'top_p' | 'top_k'

/** The default of `temperature` and `top_p`. */
const DEFAULT = 1

/** Runs after thinking is switched on or off. */
const samplingRule: Rule = {
  name: 'sampling fitted to the model',
  source: 'messages, sampling',
  adapt: ({ body }, { takesSampling, traits }) => {
    const { temperature, top_p: topP, thinking } = body
    const patch: Partial<Record<Sampling, number | undefined>> = {}
    const warnings: Warning[] = []
    const drop = (name: Sampling, detail: string): void => {
      if (body[name] === undefined) return
      patch[name] = undefined
      if (body[name] !== DEFAULT || name === 'top_k') warnings.push({ code: 'dropped', field: name, detail })
    }
    if (!takesSampling || (thinking && thinking.type !== 'disabled')) {
      const detail = takesSampling ? 'not supported together with thinking' : `not supported by ${traits.id}`
      for (const name of ['temperature', 'top_p', 'top_k'] as const) drop(name, detail)
    } else {
      // Claude accepts only one of the two, so keep the one that differs from its default.
      const usesTopP = temperature === undefined || (temperature === DEFAULT && (topP ?? DEFAULT) !== DEFAULT)
      drop(usesTopP ? 'temperature' : 'top_p', 'not supported together with temperature')
      if (!usesTopP && (temperature ?? 0) > 1) {
        patch.temperature = 1
        warnings.push({ code: 'clamped', field: 'temperature', detail: 'Claude accepts at most 1' })
      }
    }
    return Object.keys(patch).length === 0 ? undefined : { patch, warnings }
  },
}

export const thinkingRules: readonly Rule[] = [
  maxTokensRule,
  {
    name: 'no thinking in this request',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    applies: ({ thinkingOff }) => thinkingOff,
    adapt: () => ({ patch: { thinking: { type: 'disabled' } }, warnings: [] }),
  },
  {
    name: 'thinking and effort fitted to the model',
    source: 'messages, thinking; messages, effort',
    adapt: ({ body, made }, target) => {
      const { thinking, output_config: config } = body
      const asked = {
        type: thinking?.type,
        budgetTokens: thinking?.budget_tokens ?? undefined,
        effort: config?.effort ?? undefined,
      }
      if (asked.type === undefined && asked.effort === undefined) return undefined
      const plan = planThinking(asked, target, {
        maxTokens: body.max_tokens ?? Infinity,
        forcesTool: body.tool_choice?.type === 'any' || body.tool_choice?.type === 'tool',
        lacksThought: toolLoopLacksThought(body.messages),
      })
      const fitted =
        isThinkingMode(asked.type) && target.thinking !== 'unknown' ? fitThinking(thinking, plan) : thinking
      const sameEffort = plan.effort === asked.effort
      if (fitted === thinking && sameEffort) return undefined
      return {
        patch: {
          ...(fitted !== thinking && { thinking: fitted }),
          ...(!sameEffort && { output_config: withEffort(config, plan.effort) }),
        },
        warnings: warningsOf(asked, plan, target, made !== undefined),
      }
    },
  },
  {
    name: 'thinking stated for models that think adaptively only',
    source: 'messages, thinking: they refuse a request without it',
    adapt: ({ body: { thinking } }, { alwaysThinks, thinking: mode }) =>
      thinking || !alwaysThinks || mode !== 'adaptive'
        ? undefined
        : { patch: { thinking: { type: 'adaptive' } }, warnings: [] },
  },
  {
    name: 'thinking bound to what stands before it, or dropped',
    source: 'messages, thinking binding',
    // No warning, because GitHub's own client sends the same, and models without it keep the thinking.
    adapt: (draft, target) => {
      const { thinking } = draft.body
      if (!thinking) return undefined
      const { block_binding: binding, ...plain } = thinking
      const thinks = thinking.type === 'adaptive' || thinking.type === 'enabled'
      const binds = thinks && target.bindsThinking && !target.refusedBetas.has(BINDING_BETA)
      if (!binds) return binding === undefined ? undefined : { patch: { thinking: plain }, warnings: [] }
      const beta = withBeta(draft, BINDING_BETA, target)
      if (binding !== undefined) return beta
      return {
        ...beta,
        patch: { thinking: { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } } },
        warnings: [],
      }
    },
  },
  {
    name: 'thinking.display beyond the beta as summarized',
    source: 'Anthropic API reference, 2026-11: other ways of display need betas, which upstream refuses',
    adapt: ({ body: { thinking } }) => {
      const display = thinking?.display
      if (typeof display !== 'string' || DISPLAYS.has(display)) return undefined
      return {
        patch: { thinking: { ...thinking, type: thinking?.type ?? '', display: 'summarized' } },
        warnings: [{ code: 'adapted', field: 'thinking.display', detail: 'sent as summarized' }],
      }
    },
  },
  {
    name: 'output_config reduced to what upstream knows',
    source: 'messages, unknown fields; messages, structured outputs',
    adapt: ({ body: { output_config: config } }) => {
      if (!config) return undefined
      const { effort, format } = config
      const unknown = Object.keys(config).filter((key) => key !== 'effort' && key !== 'format')
      const extra = format ? Object.keys(format).filter((key) => key !== 'type' && key !== 'schema') : []
      const isEmpty = !effort && !format
      if (unknown.length === 0 && extra.length === 0 && !isEmpty) return undefined
      const kept = {
        ...(effort && { effort }),
        ...(format && { format: { type: format.type, schema: format.schema } }),
      }
      return {
        patch: { output_config: isEmpty ? undefined : kept },
        warnings: unknown.map((key) => ({
          code: 'dropped' as const,
          field: `output_config.${key}`,
          detail: 'not supported by Copilot',
        })),
      }
    },
  },
  {
    name: 'output_config.format as system text',
    source: 'messages, effort: models without effort refuse output_config as a whole',
    adapt: ({ body }, { takesOutputConfig, takesFormat, traits }) => {
      const { format, ...config } = body.output_config ?? {}
      if (!format || (takesOutputConfig && takesFormat && traits.supports.structuredOutputs !== false)) return undefined
      const detail = `${traits.id} does not support it; requested in the system text`
      return {
        patch: {
          output_config: takesOutputConfig && Object.keys(config).length > 0 ? config : undefined,
          system: withJsonHint(body.system ?? undefined, format.schema ?? undefined),
        },
        warnings: [{ code: 'json_hinted', field: 'output_config.format', detail }],
      }
    },
  },
  {
    name: 'output_config.format fitted to structured outputs',
    source: 'Anthropic documentation, structured outputs, "JSON Schema limitations", 2026-11',
    adapt: ({ body: { output_config: config } }) => {
      const format = config?.format
      if (!format?.schema) return undefined
      const { schema, removed } = toFormatSchema(format.schema)
      if (JSON.stringify(schema) === JSON.stringify(format.schema)) return undefined
      return {
        patch: { output_config: { ...config, format: { ...format, schema } } },
        warnings: removed.map((keyword) => ({
          code: 'schema_simplified',
          field: `output_config.format.${keyword}`,
          detail: `the provider does not accept ${keyword} in the schema of an answer`,
        })),
      }
    },
  },
  samplingRule,
]

function isThinkingMode(type: string | undefined): boolean {
  return type === 'enabled' || type === 'adaptive' || type === 'disabled' || type === 'between_tools'
}

/** Returns the same object if it is correct. */
function fitThinking(thinking: Thinking, { type, budgetTokens }: ThinkingPlan): Thinking {
  if (!thinking || type === undefined) return thinking
  const budget = type === 'enabled' ? budgetTokens : undefined
  // `display` is valid only with thinking.
  const display = type === 'disabled' || type === 'between_tools' ? undefined : thinking.display
  const keys = Object.keys(thinking).filter((key) => key.startsWith('budget_tokens') || key === 'display')
  const expected = Number(budget !== undefined) + Number(display !== undefined)
  if (type === thinking.type && budget === thinking.budget_tokens && keys.length === expected) return thinking
  const others = Object.fromEntries(Object.entries(thinking).filter(([key]) => !keys.includes(key)))
  return {
    ...others,
    type,
    ...(budget !== undefined && { budget_tokens: budget }),
    ...(display !== undefined && { display }),
  }
}

function withEffort(config: MessagesRequest['output_config'], effort: string | undefined): typeof config {
  const others = Object.entries(config ?? {}).filter(([key]) => key !== 'effort')
  if (effort === undefined) return others.length === 0 ? undefined : Object.fromEntries(others)
  return { ...Object.fromEntries(others), effort }
}

interface AskedMode {
  readonly type: string | undefined
  readonly effort: string | undefined
}

function warningsOf(
  asked: AskedMode,
  plan: ThinkingPlan,
  { traits, thinking }: Target,
  isEncoded: boolean,
): readonly Warning[] {
  const warnings: Warning[] = []
  if (plan.conflict !== undefined) warnings.push({ code: 'dropped', field: 'thinking', detail: plan.conflict })
  else if (plan.type !== asked.type) {
    warnings.push({
      code: 'adapted',
      field: 'thinking',
      detail: `sent as ${plan.type}, the form that ${traits.id} accepts`,
    })
  }
  if (plan.isBudgetClamped === true) {
    warnings.push({ code: 'clamped', field: 'thinking.budget_tokens', detail: `sent as ${plan.budgetTokens}` })
  }
  // The effort was converted to a budget, or an encoder derived it from the setting that is dropped.
  const isBudget = plan.type === 'enabled' && thinking === 'budget' && asked.type !== 'enabled'
  const isCarried = isBudget || (isEncoded && plan.conflict !== undefined)
  if (asked.effort !== undefined && asked.effort !== plan.effort && !isCarried) {
    warnings.push(
      plan.effort === undefined
        ? { code: 'dropped', field: 'output_config.effort', detail: `not supported by ${traits.id}` }
        : { code: 'clamped', field: 'output_config.effort', detail: `sent as ${plan.effort}` },
    )
  }
  return warnings
}
