import type { ProviderId } from '../executors/executor.ts'
import type { ListedModel } from './catalogue.ts'
import { dialectRoutes, type DialectRoutes, type EndpointAsk } from './endpoints.ts'

/** `owned_by` of models whose vendor upstream does not state. */
const ownerOf = { copilot: 'github-copilot', codex: 'openai' } as const satisfies Record<ProviderId, string>

/**
 * One model as `GET /v1/models/{id}` and the list show it. The first four fields are OpenAI's; everything else is ours,
 * under one key of our own, so that it cannot collide with a field OpenAI adds.
 */
export interface RenderedModel {
  readonly id: string
  readonly object: 'model'
  /** Seconds since epoch; 0 where upstream states none, because strict clients require an integer. */
  readonly created: number
  readonly owned_by: string
  readonly copilot_proxy: {
    readonly provider: ProviderId
    readonly name: string
    readonly type: string
    readonly family: string
    readonly preview: boolean
    /** `enabled`, `disabled` or `unconfigured` for the account; null: nothing gates the model. */
    readonly policy: string | null
    /** `seed` until the account's own list has been fetched. */
    readonly source: 'seed' | 'live'
    readonly endpoints: readonly string[]
    /** For a caller of each dialect, the upstream dialect that serves it; another one means translation. */
    readonly routes: DialectRoutes
    /** Tokens, as the other `max_…tokens`; null: not stated by upstream. */
    readonly context_window: number | null
    readonly max_prompt_tokens: number | null
    readonly max_output_tokens: number | null
    /** Texts per embeddings request upstream; longer requests are split. */
    readonly max_inputs: number | null
    /** null: not stated by upstream. */
    readonly capabilities: {
      readonly tool_calls: boolean | null
      readonly parallel_tool_calls: boolean | null
      readonly vision: boolean | null
      readonly structured_outputs: boolean | null
      readonly reasoning_effort: readonly string[] | null
    }
  }
}

/** @param setting `copilot.upstream-dialect` */
export function renderModel({ id, model }: ListedModel, setting: EndpointAsk['setting']): RenderedModel {
  const { supports } = model
  return {
    id,
    object: 'model',
    created: model.createdSeconds ?? 0,
    owned_by: model.vendor ?? ownerOf[model.provider],
    copilot_proxy: {
      provider: model.provider,
      name: model.name,
      type: model.type,
      family: model.family,
      preview: model.preview,
      policy: model.policy ?? null,
      source: model.source,
      endpoints: model.endpoints,
      routes: dialectRoutes(model, setting),
      context_window: model.contextWindow ?? null,
      max_prompt_tokens: model.maxPromptTokens ?? null,
      max_output_tokens: model.maxOutputTokens ?? null,
      max_inputs: model.maxInputs ?? null,
      capabilities: {
        tool_calls: supports.toolCalls ?? null,
        parallel_tool_calls: supports.parallelToolCalls ?? null,
        vision: supports.vision ?? null,
        structured_outputs: supports.structuredOutputs ?? null,
        reasoning_effort: supports.reasoningEffort ?? null,
      },
    },
  }
}

/** OpenAI's model list. */
export function renderModelList(
  models: readonly ListedModel[],
  setting: EndpointAsk['setting'],
): { readonly object: 'list'; readonly data: readonly RenderedModel[] } {
  return { object: 'list', data: models.map((entry) => renderModel(entry, setting)) }
}
