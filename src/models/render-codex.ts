import { withLongContext, type ListedModel } from './catalogue.ts'

/**
 * One model as Codex CLI's catalogue lists it: the members whose meaning is public. Its prompts and tool switches are left
 * to Codex's own defaults. Source: openai/codex, `models` endpoint as of CLI 0.169.
 */
interface CodexModel {
  readonly slug: string
  readonly display_name: string
  readonly description: string
  readonly visibility: 'list'
  readonly priority: number
  readonly supported_in_api: true
  readonly context_window: number | null
  readonly max_context_window: number | null
  readonly input_modalities: readonly string[]
  readonly supported_reasoning_levels: readonly { readonly effort: string; readonly description: string }[]
  readonly default_reasoning_level: string | null
  readonly supports_parallel_tool_calls: boolean
}

export interface CodexCatalogue {
  readonly models: readonly CodexModel[]
}

/** A long context tier is a row of its own, under the name that a shell takes unquoted: Codex compacts by the window. */
export function renderCodexCatalogue(models: readonly ListedModel[]): CodexCatalogue {
  const chat = models.filter(({ model }) => model.type === 'chat')
  return { models: withLongContext(chat, '-long-context').map(renderCodexModel) }
}

function renderCodexModel({ id, model }: ListedModel, priority: number): CodexModel {
  const { supports } = model
  // Codex compacts by the window, and a prompt may be no longer than its own limit.
  const window = model.maxPromptTokens ?? model.contextWindow ?? null
  const efforts = supports.reasoningEffort ?? []
  const isListed = (effort: string | undefined) => effort !== undefined && efforts.includes(effort)
  return {
    slug: id,
    display_name: model.name,
    description: model.name,
    visibility: 'list',
    priority,
    supported_in_api: true,
    context_window: window,
    max_context_window: model.maxContextWindow ?? window,
    input_modalities: supports.vision === true ? ['text', 'image'] : ['text'],
    supported_reasoning_levels: efforts.map((effort) => ({ effort, description: effort })),
    default_reasoning_level: [model.defaultReasoningEffort, 'medium'].find(isListed) ?? efforts[0] ?? null,
    supports_parallel_tool_calls: supports.parallelToolCalls ?? false,
  }
}
