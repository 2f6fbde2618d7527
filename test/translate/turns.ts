import type {
  Dialect,
  CallerRequest,
  EncodeContext,
  ReplySeed,
  ReplyStream,
  TurnAccepts,
} from '../../src/translate/dialect.ts'
import type { JsonObject } from '../../src/json/json.ts'
import type { ModelTraits } from '../../src/translate/model-traits.ts'
import type { CallerNotes, UpstreamNotes } from '../../src/translate/reply-notes.ts'
import type { ReplyMemory, ReplyReasoning, StoredInput } from '../../src/translate/reply-memory.ts'
import { responsesDialect } from '../../src/translate/responses/dialect.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import type { FieldNames, Turn } from '../../src/translate/turn.ts'
import { asIs } from '../as-is.ts'

/** A dialect's names for its fields, spelled so that a test sees where they come from. */
const fieldNames: FieldNames = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  logitBias: 'logit_bias',
  stop: 'stop',
  format: 'response_format',
  verbosity: 'verbosity',
  reasoning: 'reasoning',
  effort: 'effort',
  logprobs: 'logprobs',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
}

/** A Turn that says nothing but what the test gives it. */
export function turn(parts: Partial<Turn> = {}): Turn {
  return { fieldNames, items: [], tools: [], sampling: {}, stop: [], ...parts }
}

/** The strictest of the upstreams in everything. */
export const narrow: TurnAccepts = { customTools: false, webSearch: false, stop: false }

export function traits(id: string, parts: Partial<ModelTraits> = {}): ModelTraits {
  return { id, family: id, supports: {}, ...parts }
}

export function encodeContext(model: ModelTraits, parts: Partial<EncodeContext> = {}): EncodeContext {
  return { model, strict: false, learnedRefusals: new Set(), ...parts }
}

export function translateForResponses(caller: Dialect, request: CallerRequest, context: EncodeContext) {
  return translateCall(caller, responsesDialect.upstream, request, context)
}

const noInput: StoredInput = { input: [], inputChars: 0, previousId: undefined }

/** Notes of a request that asks for all that a reply can give. */
function askForAll<Notes extends CallerNotes | UpstreamNotes>(notes: Notes | undefined) {
  if (notes?.dialect === 'chat') return { ...notes, wantsUsage: true }
  if (notes !== undefined && notes.dialect !== 'responses') return notes
  return { ...notes, dialect: 'responses', storedInput: noInput } as const
}

/** What a reply keeps for later requests. */
export function remembered({ remember }: Pick<ReplyStream, 'remember'>) {
  let record: { readonly id: string; readonly response: JsonObject } | undefined
  let reasoning: ReplyReasoning | undefined
  remember?.({
    responses: {
      put: (id, { response }) => (record = { id, response }),
      historyOf: () => undefined,
      items: () => new Map(),
    },
    reasoning: { keep: (kept) => (reasoning = kept), recall: () => undefined },
  })
  return { record, reasoning }
}

/**
 * The request with the parts of earlier replies that it refers to or leaves out.
 * @param kept what the memory has; it has nothing else
 */
export function recall(caller: Dialect, request: CallerRequest, kept: Partial<ReplyMemory>): CallerRequest {
  if (caller.recall === undefined) throw new Error('callers of this dialect refer to no replies')
  const memory: ReplyMemory = {
    responses: { put: () => {}, historyOf: () => undefined, items: () => new Map() },
    reasoning: { keep: () => {}, recall: () => undefined },
    ...kept,
  }
  return caller.recall(request, memory, false)
}

export function replySeed(model: ModelTraits, { notes, ...parts }: Partial<ReplySeed> = {}): ReplySeed {
  const { caller, upstream } = notes ?? {}
  return {
    id: 'seed-1',
    createdSeconds: 1_790_000_000,
    nowSeconds: () => 1_790_000_007,
    model: model.id,
    requestedModel: model.id,
    traits: model,
    redact: asIs,
    ...parts,
    notes: {
      tools: new Map(),
      stop: [],
      ...notes,
      caller: askForAll(caller),
      upstream: askForAll(upstream),
    },
  }
}
