import { parseCodexList } from './codex-wire.ts'
import type { CodexModelEntry, OpenaiModelEntry } from './codex-wire.ts'
import { responsesEndpoint } from './endpoints.ts'
import type { Model, ModelListing } from './model.ts'

/** What every Codex model has in common: both upstreams speak Responses and nothing else. */
const common = {
  provider: 'codex',
  vendor: 'OpenAI',
  endpoints: [responsesEndpoint],
  preview: false,
  source: 'live',
} as const

/**
 * A reply to `GET /models` of either Codex upstream, in the order in which the models are to be listed; undefined when
 * it is not a model list at all.
 */
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

/** Entries that state no priority come last. */
function byPriority(a: CodexModelEntry, b: CodexModelEntry): number {
  return (a.priority ?? Number.MAX_VALUE) - (b.priority ?? Number.MAX_VALUE)
}

/**
 * Efforts that only a client knows: `ultra` is `max` and a way of delegating work, and no value of the request
 * (docs/codex-wire.md, "Models").
 */
const clientEfforts: ReadonlySet<string> = new Set(['ultra'])

/** A Codex model from one entry of the ChatGPT backend's catalogue. */
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
      // The catalogue does not say so of any model; it is one of agents that do nothing without tools.
      toolCalls: true,
      parallelToolCalls: entry.supports_parallel_tool_calls ?? undefined,
      vision: entry.input_modalities?.includes('image'),
      reasoningSummary: entry.supports_reasoning_summary_parameter ?? undefined,
      verbosity: entry.supports_verbosity ?? entry.support_verbosity ?? undefined,
      // An empty list states nothing that could be adapted to.
      reasoningEffort: efforts.size > 0 ? [...efforts] : undefined,
    },
  }
}

/**
 * The key API lists everything a project may use and says of none what it is for, so ids have to tell. Models of families
 * that speak Responses are listed, newest first; those of families that only other endpoints take are left out. An id of
 * neither is kept as `other`: not listed, but it answers to its name, because a wrong guess then ends in upstream's own
 * clear refusal and the opposite one would make a working model unreachable.
 */
function toKeyApiModels(entries: readonly OpenaiModelEntry[]): readonly Model[] {
  const ids = new Set(entries.map((entry) => entry.id))
  return entries
    .filter(({ id }) => !isForOtherEndpoints(id))
    .toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0))
    .map((entry) => toKeyApiModel(entry, isSnapshotOf(entry.id, ids)))
}

/** @param isSnapshot a dated copy of a model that the list names too: not listed beside it */
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

/** Families that Responses takes. Source: OpenAI API reference, models, 2026-11. */
function speaksResponses(id: string): boolean {
  return /^(?:gpt-\d|o\d|chatgpt-|codex-|computer-use-)/.test(baseOf(id))
}

/** Families, by a word of their ids, that Responses does not take. Source: OpenAI API reference, models, 2026-11. */
const otherEndpoints =
  /(?:^|-)(?:audio|babbage|dall-e|davinci|embedding|image|instruct|moderation|realtime|search-api|search-preview|sora|transcribe|translate|tts|whisper)(?:-|$)/

function isForOtherEndpoints(id: string): boolean {
  return otherEndpoints.test(baseOf(id))
}

/** `gpt-4.1-mini` of the fine-tuned `ft:gpt-4.1-mini:organization:name:id`, whose other parts are anybody's words. */
function baseOf(id: string): string {
  return id.startsWith('ft:') ? (id.split(':', 2)[1] ?? '') : id
}

/** `gpt-5-2025-08-07` beside `gpt-5`, `gpt-4-0613` beside `gpt-4`. */
function isSnapshotOf(id: string, ids: ReadonlySet<string>): boolean {
  const undated = id.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{4})$/, '')
  return undated !== id && ids.has(undated)
}
