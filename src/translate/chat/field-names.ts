import type { FieldNames } from '../turn.ts'

/** This dialect's members, for the warnings of other upstreams. */
export const chatFieldNames: FieldNames = {
  maxOutputTokens: 'max_completion_tokens',
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
  reasoning: 'reasoning_effort',
  effort: 'reasoning_effort',
  logprobs: 'logprobs',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
}

/** For callers that still write the older name of the cap. */
export const olderFieldNames: FieldNames = { ...chatFieldNames, maxOutputTokens: 'max_tokens' }
