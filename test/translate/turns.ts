import type { CallerDialect } from '../../src/translate/caller-dialect.ts'
import type { CallerRequest, ReplySeed, TurnAccepts } from '../../src/translate/dialect.ts'
import type { ModelTraits } from '../../src/translate/model-traits.ts'
import { createResponsesUpstream } from '../../src/translate/responses/upstream/dialect.ts'
import type { EncodeContext } from '../../src/translate/responses/upstream/settings.ts'
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
export const narrow: TurnAccepts = { toolName: 64, callId: 64, customTools: false, webSearch: false, stop: false }

export function traits(id: string, parts: Partial<ModelTraits> = {}): ModelTraits {
  return { id, family: id, supports: {}, ...parts }
}

/** What any upstream dialect encodes for; the settings are of a Responses upstream alone. */
export function encodeContext(model: ModelTraits, parts: Partial<EncodeContext> = {}): EncodeContext {
  return { model, strict: false, learnedRefusals: new Set(), ...parts }
}

/** `translateCall` for a Responses upstream with the settings of the context. */
export function translateForResponses(caller: CallerDialect, request: CallerRequest, context: EncodeContext) {
  const { profile, lite } = context
  return translateCall(caller, createResponsesUpstream({ profile, lite }), request, context)
}

export function replySeed(model: ModelTraits, parts: Partial<ReplySeed> = {}): ReplySeed {
  return {
    id: 'seed-1',
    createdSeconds: 1_790_000_000,
    nowSeconds: () => 1_790_000_007,
    model: model.id,
    requestedModel: model.id,
    traits: model,
    wantsUsage: true,
    notes: { tools: new Map(), stop: [] },
    redact: asIs,
    ...parts,
  }
}
