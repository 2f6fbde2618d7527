import { parseModelList } from './copilot-wire.ts'
import type { CopilotModelEntry } from './copilot-wire.ts'
import { chatEndpoint, embeddingsEndpoint } from './endpoints.ts'
import type { Model, ModelListing, ModelType } from './model.ts'

/** Copilot's reply to `GET /models`; undefined when it is not a model list at all. */
export function parseCopilotModels(reply: unknown): ModelListing | undefined {
  const list = parseModelList(reply)
  return list && { models: list.entries.map(toCopilotModel), leftOut: list.leftOut }
}

/** A Copilot model from one entry of the live list. */
export function toCopilotModel(entry: CopilotModelEntry): Model {
  const capabilities = entry.capabilities ?? {}
  const limits = capabilities.limits ?? {}
  const supports = capabilities.supports ?? {}
  const type = toModelType(capabilities.type ?? undefined, entry.id)
  return {
    provider: 'copilot',
    id: entry.id,
    name: entry.name ?? entry.id,
    type,
    family: capabilities.family ?? entry.id,
    vendor: entry.vendor ?? undefined,
    contextWindow: limits.max_context_window_tokens ?? undefined,
    maxPromptTokens: limits.max_prompt_tokens ?? undefined,
    maxOutputTokens: limits.max_output_tokens ?? undefined,
    maxInputs: limits.max_inputs ?? undefined,
    endpoints: toEndpoints(type, entry.supported_endpoints ?? []),
    policy: entry.policy?.state ?? undefined,
    preview: entry.preview ?? false,
    pickerEnabled: entry.model_picker_enabled ?? true,
    createdSeconds: entry.created ?? undefined,
    source: 'live',
    supports: {
      toolCalls: supports.tool_calls ?? undefined,
      parallelToolCalls: supports.parallel_tool_calls ?? undefined,
      vision: supports.vision ?? undefined,
      structuredOutputs: supports.structured_outputs ?? undefined,
      prediction: supports.prediction ?? undefined,
      // An empty list states nothing that could be adapted to.
      adaptiveThinking: supports.adaptive_thinking ?? undefined,
      minThinkingBudget: supports.min_thinking_budget ?? undefined,
      maxThinkingBudget: supports.max_thinking_budget ?? undefined,
      reasoningEffort: supports.reasoning_effort?.length ? supports.reasoning_effort : undefined,
    },
  }
}

/** An entry that states no type is a chat model, unless its id says otherwise. The latter is a guess. */
function toModelType(stated: string | undefined, id: string): ModelType {
  switch (stated) {
    case 'chat':
    case 'embeddings':
    case 'completion':
      return stated
    case undefined:
      return id.includes('embedding') ? 'embeddings' : 'chat'
    default:
      return 'other'
  }
}

/**
 * Upstream's `supported_endpoints` never names `/embeddings`, and for older chat models it is absent, which means
 * chat. An empty list is read like an absent one: a wrong guess then ends in upstream's own clear 400, the opposite
 * guess would make a working model unreachable.
 */
function toEndpoints(type: ModelType, stated: readonly string[]): readonly string[] {
  if (type === 'embeddings') return [embeddingsEndpoint]
  if (type === 'chat' && stated.length === 0) return [chatEndpoint]
  return stated
}
