import type { ChatNotes } from '../../../src/translate/chat/notes.ts'
import type { EncodeContext, ReplyNotes, ReplySeed, UpstreamDialectId } from '../../../src/translate/dialect.ts'
import type { ToolIdentity } from '../../../src/translate/engine/reply-effects.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import type { CallerNotes, UpstreamNotes } from '../../../src/translate/reply-notes.ts'
import { asIs } from '../../as-is.ts'

/** Models that differ in what is adapted for them. */
const models: readonly ModelTraits[] = [
  { id: 'gpt-5-mini', family: 'gpt-5-mini', vendor: 'Azure OpenAI', supports: { reasoningEffort: ['low', 'high'] } },
  {
    id: 'gpt-4.1',
    family: 'gpt-4.1',
    vendor: 'OpenAI',
    maxOutputTokens: 100,
    supports: { toolCalls: false, vision: false },
  },
  {
    id: 'claude-opus-4.8',
    family: 'claude-opus-4.8',
    vendor: 'Anthropic',
    maxOutputTokens: 64_000,
    supports: { adaptiveThinking: true, reasoningEffort: ['low', 'medium', 'high', 'max'], parallelToolCalls: true },
  },
  {
    id: 'claude-opus-4.5',
    family: 'claude-opus-4.5',
    vendor: 'Anthropic',
    supports: { minThinkingBudget: 1024, maxThinkingBudget: 32_000 },
  },
  { id: 'gemini-3-pro-preview', family: 'gemini-3', vendor: 'Google', supports: {} },
  { id: 'grok-code-fast-1', family: 'grok-code', vendor: 'xAI', supports: { structuredOutputs: false } },
  {
    id: 'gpt-5.3-codex',
    family: 'gpt-5.3-codex',
    provider: 'codex',
    supports: { verbosity: true, reasoningSummary: true },
  },
]

const learnedRefusalSets: readonly (readonly string[])[] = [
  [],
  [],
  ['rename:max_tokens', 'field:temperature', 'marks:copilot_cache_control'],
  ['namespaces', 'custom_tools', 'encrypted_content', 'item_ids'],
  ['lite', 'field:reasoning.summary', 'tool:web_search', 'efforts:low,high'],
  ['beta:context-1m field:context_management', 'tag:tools:bash_20250124', 'thinking:always', 'max-tokens:100'],
  ['thinking:budget efforts:', 'system-messages:no', 'thinking:unforced'],
]

function of<Item>(list: readonly Item[], pick: number): Item {
  // Proof of the cast: the index is within the list, which is not empty.
  return list[pick % list.length] as Item
}

/** Settings and a model, by a number. */
export function contextOf(pick: number): EncodeContext {
  const isChatgpt = pick % 5 === 0
  return {
    model: of(models, pick),
    strict: (pick >> 5) % 8 === 7,
    learnedRefusals: new Set(of(learnedRefusalSets, pick >> 8)),
    ...(isChatgpt && { profile: 'chatgpt' as const }),
  }
}

const renamed: ReadonlyMap<string, ToolIdentity> = new Map([
  ['read', { kind: 'function', name: 'read', namespace: 'files' }],
  ['get_weather', { kind: 'custom', name: 'weather' }],
  ['run', { kind: 'custom', name: 'run' }],
])

/** Turns that a chat caller's request keeps; 0 for all. */
export function historyWindowOf(pick: number): number {
  return of([0, 0, 0, 1, 2], pick >> 3)
}

/** What a caller's dialect knows of its request, by a number. */
function callerNotesOf(dialect: UpstreamDialectId, pick: number): CallerNotes {
  switch (dialect) {
    case 'chat':
      return chatNotesOf(pick)
    case 'messages':
      return {
        dialect,
        hasFormat: (pick >> 4) % 2 === 0,
        hidesThinking: (pick >> 5) % 4 === 0,
        asksForThinking: (pick >> 7) % 2 === 0,
      }
    case 'responses':
      return { dialect, hidesThinking: (pick >> 5) % 4 === 0, ...responsesNotesOf(pick) }
  }
}

/** What an upstream's dialect knows of its request, by a number. */
export function upstreamNotesOf(dialect: UpstreamDialectId, pick: number): UpstreamNotes | undefined {
  if (dialect === 'chat') return chatNotesOf(pick)
  // The request of a paused answer.
  if (dialect === 'messages') return undefined
  const calls = { grouped: new Set(['read']), hasWrapper: (pick >> 10) % 2 === 0 }
  return { dialect, ...responsesNotesOf(pick), ...((pick >> 9) % 2 === 0 && { calls }) }
}

function chatNotesOf(pick: number): ChatNotes {
  return { dialect: 'chat', wantsUsage: (pick >> 11) % 2 === 0, reasoningContent: false }
}

function responsesNotesOf(pick: number) {
  const hasEcho = (pick >> 8) % 2 !== 0
  return {
    ...(hasEcho && { echo: { tools: [], instructions: 'x' } }),
    storedInput: of([undefined, { input: [], inputChars: 0, previousId: undefined }], pick >> 12),
  }
}

/** What a reply knows of its request, by a number. */
export function seedOf(pick: number, caller: UpstreamDialectId, upstream: UpstreamDialectId): ReplySeed {
  const traits = of(models, pick)
  const notes: ReplyNotes = {
    tools: pick % 3 === 0 ? renamed : new Map(),
    stop: of<readonly string[]>([[], [], ['END', 'e'], ['']], pick >> 2),
    caller: callerNotesOf(caller, pick),
    upstream: upstreamNotesOf(upstream, pick),
  }
  return {
    id: 'seed-0001',
    createdSeconds: 1_790_000_000,
    nowSeconds: () => 1_790_000_007,
    model: traits.id,
    requestedModel: 'alias',
    traits,
    notes,
    redact: asIs,
  }
}
