import type { FieldNames } from '../turn.ts'

/** How a caller of the Messages API knows the fields of a Turn; those it has not are named as OpenAI names them. */
export const messagesFieldNames: FieldNames = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  logitBias: 'logit_bias',
  stop: 'stop_sequences',
  format: 'output_config.format',
  verbosity: 'verbosity',
  reasoning: 'thinking',
  effort: 'output_config.effort',
  logprobs: 'logprobs',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
}
