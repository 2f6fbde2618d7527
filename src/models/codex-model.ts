import { parseCodexList } from './wire.ts'
import type { CodexModelEntry, OpenaiModelEntry } from './wire.ts'
import { responsesEndpoint } from './endpoints.ts'
import type { Model, ModelListing } from './model.ts'

/** Both Codex upstreams speak Responses only. */
const common = {
  provider: 'codex',
  vendor: 'OpenAI',
  endpoints: [responsesEndpoint],
  preview: false,
  source: 'live',
} as const

/** Reads `GET /models` of either Codex upstream, in the order of listing. Undefined if it is no model list. */
export function parseCodexModels(reply: unknown): ModelListing | undefined {
  const list = parseCodexList(reply)
  switch (list?.kind) {
    case 'catalogue':
      return { models: list.entries.toSorted(byPriority).map(toCodexModel), leftOut: list.leftOut }
    case 'key-api': {
      const models = toKeyApiModels(list.entries)
      return { models, leftOut: list.leftOut + list.entries.length - models.length }
    }
    case undefined:
      return undefined
  }
}

/** Entries without a priority come last. */
function byPriority(a: CodexModelEntry, b: CodexModelEntry): number {
  return (a.priority ?? Number.MAX_VALUE) - (b.priority ?? Number.MAX_VALUE)
}

/** `ultra` is a mode of the client (`max`, and delegation), not a value of the request (docs/codex-wire.md, "Models"). */
const clientEfforts: ReadonlySet<string> = new Set(['ultra'])

export function toCodexModel(entry: CodexModelEntry): Model {
  const efforts = new Set(entry.supported_reasoning_levels?.filter((effort) => !clientEfforts.has(effort)))
  return {
    ...common,
    id: entry.slug,
    name: entry.display_name ?? entry.slug,
    type: 'chat',
    family: entry.slug,
    contextWindow: entry.context_window ?? entry.max_context_window ?? undefined,
    maxContextWindow: entry.max_context_window ?? undefined,
    defaultReasoningEffort: entry.default_reasoning_level ?? undefined,
    responsesLite: entry.use_responses_lite ?? undefined,
    pickerEnabled: (entry.visibility ?? 'list') === 'list',
    supports: {
      // The catalogue does not state it; its models are for agents, which need tools.
      toolCalls: true,
      parallelToolCalls: entry.supports_parallel_tool_calls ?? undefined,
      vision: entry.input_modalities?.includes('image'),
      reasoningSummary: entry.supports_reasoning_summary_parameter ?? undefined,
      verbosity: entry.supports_verbosity ?? entry.support_verbosity ?? undefined,
      // Treat an empty list as absent.
      reasoningEffort: efforts.size > 0 ? [...efforts] : undefined,
    },
  }
}

/**
 * The key API lists every model of a project without its purpose, so the id decides. Families that speak Responses are
 * listed, newest first; families of other endpoints are left out. Other ids are `other`: unlisted, but callable by name,
 * because upstream refuses a wrong one clearly, and leaving it out would make a working model unreachable.
 */
function toKeyApiModels(entries: readonly OpenaiModelEntry[]): readonly Model[] {
  const ids = new Set(entries.map((entry) => entry.id))
  return entries
    .filter(({ id }) => !isForOtherEndpoints(id))
    .toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0))
    .map((entry) => toKeyApiModel(entry, isSnapshotOf(entry.id, ids)))
}

/** @param isSnapshot a dated copy of a listed model, which is not listed itself */
function toKeyApiModel({ id, created }: OpenaiModelEntry, isSnapshot: boolean): Model {
  return {
    ...common,
    id,
    name: id,
    type: speaksResponses(id) ? 'chat' : 'other',
    family: id,
    pickerEnabled: !isSnapshot,
    createdSeconds: created ?? undefined,
    supports: {},
  }
}

/** Families of Responses. Source: OpenAI API reference, models, 2026-11. */
function speaksResponses(id: string): boolean {
  return /^(?:gpt-\d|o\d|chatgpt-|codex-|computer-use-)/.test(baseOf(id))
}

/** Families, by a word of their ids, of other endpoints. Source: OpenAI API reference, models, 2026-11. */
const otherEndpoints =
  /(?:^|-)(?:audio|babbage|dall-e|davinci|embedding|image|instruct|moderation|realtime|search-api|search-preview|sora|transcribe|translate|tts|whisper)(?:-|$)/

function isForOtherEndpoints(id: string): boolean {
  return otherEndpoints.test(baseOf(id))
}

/** `gpt-4.1-mini` for the fine-tuned `ft:gpt-4.1-mini:organization:name:id`, whose other parts are free text. */
function baseOf(id: string): string {
  return id.startsWith('ft:') ? (id.split(':', 2)[1] ?? '') : id
}

/** `gpt-5-2025-08-07` beside `gpt-5`, `gpt-4-0613` beside `gpt-4`. */
function isSnapshotOf(id: string, ids: ReadonlySet<string>): boolean {
  const undated = id.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{4})$/, '')
  return undated !== id && ids.has(undated)
}
