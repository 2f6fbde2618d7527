import { isObject } from '../../../../src/json/json.ts'
import { textReply } from '../../http/outcome.ts'
import { limitsOf } from '../models.ts'
import { CHAT, isClaude, isGemini, isGpt, MESSAGES, RESPONSES, withCode } from './row.ts'
import type { RefusalRow, SentRequest } from './row.ts'

// Sizes: the context window in the words of each backend, and the size of a body.

const MOST_BYTES = 32 * 1024 * 1024

/** A rough estimate: four characters per token, of the prompt with all its structure. */
function promptTokens({ bodyBytes }: SentRequest): number {
  return Math.ceil(bodyBytes / 4)
}

function isFull(sent: SentRequest): boolean {
  return promptTokens(sent) > sent.windowTokens
}

function outputTokens({ body }: SentRequest): number {
  const given = body['max_tokens'] ?? body['max_completion_tokens'] ?? 0
  return typeof given === 'number' ? given : 0
}

/** These rows give a host that is full the words of one backend. */
const WINDOW = {
  scope: 'if asked',
  source:
    'ericc-ch/copilot-api#83, agentgateway/agentgateway#3581, microsoft/vscode#301759, anthropics/claude-code#8637',
} as const

export const limitRows: readonly RefusalRow[] = [
  {
    ...WINDOW,
    id: 'P20 full window, GPT',
    routes: [CHAT, RESPONSES],
    models: isGpt,
    judge: (sent) =>
      isFull(sent)
        ? 'Your input exceeds the context window of this model. Please adjust your input and try again.'
        : undefined,
  },
  {
    ...WINDOW,
    id: 'P20 full window, Bedrock',
    routes: [CHAT, MESSAGES],
    models: isClaude,
    judge: (sent) => (isFull(sent) ? 'Input is too long for requested model.' : undefined),
  },
  {
    ...WINDOW,
    id: 'P20 full window, Gemini',
    routes: [CHAT],
    models: isGemini,
    judge: (sent) =>
      isFull(sent)
        ? `The input token count (${promptTokens(sent)}) exceeds the maximum number of tokens allowed (${sent.windowTokens}).`
        : undefined,
    reply: (words) => textReply(400, words),
  },
  {
    ...WINDOW,
    id: 'P20 prompt and output together',
    routes: [CHAT, MESSAGES],
    models: isClaude,
    judge: (sent) => {
      const [input, output] = [promptTokens(sent), outputTokens(sent)]
      return !isFull(sent) && input + output > sent.windowTokens
        ? `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${sent.windowTokens}, decrease input length or \`max_tokens\` and try again`
        : undefined
    },
  },
  {
    id: '32 MB on Responses',
    routes: [RESPONSES],
    models: isGpt,
    scope: 'everywhere',
    source: 'the CLI sends no larger body: official-clients, "Limits"',
    judge: ({ bodyBytes }) => (bodyBytes > MOST_BYTES ? 'Request Entity Too Large' : undefined),
    reply: (words) => textReply(413, words),
  },
  {
    id: 'adaptive only, other type',
    routes: [MESSAGES],
    models: (model) => limitsOf(model).isAdaptiveOnly,
    scope: 'everywhere',
    source: 'the CLI sends adaptive to fable and mythos always: official-clients, "Claude 5.1 and later"',
    judge: ({ body: { thinking } }) =>
      isObject(thinking) && thinking['type'] !== 'adaptive'
        ? `"thinking.type.${String(thinking['type'])}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
        : undefined,
    reply: withCode('invalid_request_body'),
  },
  {
    id: 'adaptive only, no thinking',
    routes: [MESSAGES],
    models: (model) => limitsOf(model).isAdaptiveOnly,
    // Anthropic's own API takes it and thinks.
    scope: 'some hosts',
    source: 'official-clients, "Claude 5.1 and later"',
    judge: ({ body: { thinking } }) =>
      isObject(thinking)
        ? undefined
        : 'thinking: this model thinks always. Use "thinking.type.adaptive" and "output_config.effort".',
  },
]
