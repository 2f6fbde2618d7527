import type { FieldNames } from '../turn.ts'

/** This dialect's members; those it does not have are under the name that Chat Completions gives them. */
export const responsesFieldNames: FieldNames = {
  maxOutputTokens: 'max_output_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  logitBias: 'logit_bias',
  stop: 'stop',
  format: 'text.format',
  verbosity: 'text.verbosity',
  reasoning: 'reasoning',
  effort: 'reasoning.effort',
  logprobs: 'top_logprobs',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
}
