import { z } from 'zod'
import { withLongContext } from './catalogue.ts'
import type { ListedModel } from './catalogue.ts'

/**
 * The instructions of every model in a catalogue for Codex CLI. Codex has a text of its own for models that it does not know,
 * and gives a model of a catalogue the text of the catalogue in its place. These few words serve a Codex whose own text is
 * not known.
 */
const plainInstructions =
  'You are a coding agent that runs in Codex CLI on the computer of its user. Work in the current folder with your tools ' +
  'until the task is done: read before you change, make small changes, and check them. Follow the AGENTS.md files that ' +
  'apply. Keep answers short, and say what you did not do or could not check.\n'

/**
 * The models in the form of `GET /v1/models?client_version=…` and of `model_catalog_json` of Codex CLI. A catalogue replaces
 * the models that are built into Codex. A long context tier is a row of its own, because Codex compacts by the window. Its
 * name needs no quotes in a shell.
 * Source: openai/codex, `ModelInfo` as of CLI 0.169, which reads no list that lacks one of these fields.
 */
export function renderCodexCatalogue(models: readonly ListedModel[]) {
  const chat = models.filter(({ model }) => model.type === 'chat')
  return { models: withLongContext(chat, '-long-context').map(renderCodexModel) }
}

function renderCodexModel({ id, model, aliasOf }: ListedModel, priority: number) {
  const { supports } = model
  // Codex compacts by the window, and a prompt may be no longer than its own limit.
  const window = model.maxPromptTokens ?? model.contextWindow ?? null
  const efforts = supports.reasoningEffort ?? []
  const isListed = (effort: string | undefined) => effort !== undefined && efforts.includes(effort)
  return {
    ...(aliasOf !== undefined && { alias_of: aliasOf }),
    slug: id,
    display_name: model.name,
    description: model.name,
    visibility: 'list' as const,
    priority,
    supported_in_api: true as const,
    context_window: window,
    max_context_window: model.maxContextWindow ?? window,
    input_modalities: supports.vision === true ? ['text', 'image'] : ['text'],
    supported_reasoning_levels: efforts.map((effort) => ({ effort, description: effort })),
    default_reasoning_level: [model.defaultReasoningEffort, 'medium'].find(isListed) ?? efforts[0] ?? null,
    supports_parallel_tool_calls: supports.parallelToolCalls ?? false,
    // With these, Codex offers the tools that it offers a model that it does not know.
    shell_type: 'default' as const,
    support_verbosity: false as const,
    experimental_supported_tools: [],
    /** Codex cuts the output of one command at this limit, which its own models have too. */
    truncation_policy: { mode: 'tokens' as const, limit: 10_000 },
    base_instructions: plainInstructions,
  }
}

/** A catalogue as this program reads it; other fields are kept. */
export const codexCatalogue = z.looseObject({ models: z.array(z.looseObject({ slug: z.string() })).min(1) })
export type CodexCatalogue = z.infer<typeof codexCatalogue>

/** The file `codex-cli.json`: facts of the Codex CLI of this version on this machine. */
export const codexCli = z.object({
  version: z.string(),
  /** The system prompt that Codex CLI sends to a model that it does not know. */
  instructions: z.string(),
  /** The tool settings of each model that this Codex CLI has built in, by slug. */
  traits: z.record(z.string(), z.record(z.string(), z.unknown())),
})
export type CodexCli = z.infer<typeof codexCli>

/** Fields of a built-in model that are left out: they describe OpenAI's own service, or our entry states its own. */
const foreignFields: ReadonlySet<string> = new Set([
  'slug',
  'display_name',
  'description',
  'visibility',
  'priority',
  'supported_in_api',
  'context_window',
  'max_context_window',
  'auto_compact_token_limit',
  'input_modalities',
  'supported_reasoning_levels',
  'default_reasoning_level',
  'supports_parallel_tool_calls',
  'base_instructions',
  'model_messages',
  'upgrade',
  'availability_nux',
  'service_tiers',
  'default_service_tier',
  'additional_speed_tiers',
])

/** The traits of the models of Codex's own catalogue. */
export function traitsOf({ models }: CodexCatalogue): CodexCli['traits'] {
  return Object.fromEntries(models.map((entry) => [entry.slug, ownFields(entry)]))
}

function ownFields(entry: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !foreignFields.has(name)))
}

/** The catalogue for one Codex CLI: with its instructions, and its own use of the models that it knows. */
export function fitCatalogue({ models }: CodexCatalogue, { instructions, traits }: CodexCli): CodexCatalogue {
  const known = new Map(Object.entries(traits))
  return { models: models.map((entry) => ({ ...entry, ...known.get(entry.slug), base_instructions: instructions })) }
}

/** Codex skips fields that it does not know. */
const chosenMark = 'copilot_proxy_chosen'

/** Marks a model that was chosen by its name and that the list of the daemon does not have. */
export function markChosen<Entry extends object>(entry: Entry): Entry & { readonly [chosenMark]: true } {
  return { ...entry, [chosenMark]: true }
}

/** The catalogue, and the marked models of the one that it replaces. */
export function keepChosen({ models }: CodexCatalogue, before: CodexCatalogue | undefined): CodexCatalogue {
  const listed = new Set(models.map(({ slug }) => slug))
  const kept = before?.models.filter((entry) => entry[chosenMark] === true && !listed.has(entry.slug)) ?? []
  return { models: [...models, ...kept] }
}

/** The text of a catalogue file. */
export function catalogueText(catalogue: CodexCatalogue): string {
  return `${JSON.stringify(catalogue)}\n`
}
