import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import type { FinishReason, LanguageModel, ModelMessage, ToolSet } from 'ai'
import type { Proxy } from '../../http/harness.ts'
import { tools } from './speaker.ts'
import type { Prompt, Said, Speaker } from './speaker.ts'

type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

interface Provider {
  readonly name: string
  readonly dialect: Speaker['dialect']
  /** False for the two chat providers, which read another vendor's reasoning members and send none back. */
  readonly keepsThoughts: boolean
  readonly model: (proxy: Proxy, id: string) => LanguageModel
  /** The options that the provider's guide states for reasoning. */
  readonly thinking: (model: string) => ProviderOptions
}

const apiKey = 'unused'

// A provider warns about models and settings that it does not know, which are nearly all of them here.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const openai: Provider = {
  name: '@ai-sdk/openai',
  dialect: 'responses',
  keepsThoughts: true,
  model: ({ url }, id) => createOpenAI({ baseURL: `${url}/v1`, apiKey })(id),
  thinking: () => ({
    openai: {
      reasoningEffort: 'high',
      reasoningSummary: 'auto',
      store: false,
      include: ['reasoning.encrypted_content'],
      // The provider does not know every model that reasons.
      forceReasoning: true,
    },
  }),
}

const openaiChat: Provider = {
  name: '@ai-sdk/openai chat',
  dialect: 'chat',
  keepsThoughts: false,
  model: ({ url }, id) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat(id),
  thinking: () => ({ openai: { reasoningEffort: 'high' } }),
}

const anthropic: Provider = {
  name: '@ai-sdk/anthropic',
  dialect: 'messages',
  keepsThoughts: true,
  model: ({ url }, id) => createAnthropic({ baseURL: `${url}/v1`, apiKey })(id),
  thinking: (model) => ({
    anthropic: {
      thinking: model.includes('4.5')
        ? { type: 'enabled', budgetTokens: 4000 }
        : { type: 'adaptive', display: 'summarized' },
    },
  }),
}

const openaiCompatible: Provider = {
  name: '@ai-sdk/openai-compatible',
  dialect: 'chat',
  keepsThoughts: false,
  model: ({ url }, id) =>
    createOpenAICompatible({
      name: 'proxy',
      baseURL: `${url}/v1`,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(id),
  thinking: () => ({ proxy: { reasoningEffort: 'high' } }),
}

export const providers = [openai, openaiChat, anthropic, openaiCompatible]
export const aiSpeakers: readonly Speaker[] = providers.map(speakerOf)

const offered: ToolSet = Object.fromEntries(
  tools.map(({ name, description, schema }) => [
    name,
    tool({ description, inputSchema: jsonSchema<object>({ ...schema }) }),
  ]),
)

/** `ai` with one of its providers. Nothing runs the tools, so that the test sees each turn by itself. */
function speakerOf(provider: Provider): Speaker {
  const { name, dialect, keepsThoughts } = provider
  return {
    name,
    dialect,
    keepsThoughts,
    open(proxy, { model: first, stream, hasTools, thinks }) {
      let model = first
      const messages: ModelMessage[] = []
      let calls: Said['calls'] = []

      async function turn(): Promise<Said> {
        const request = {
          model: provider.model(proxy, model),
          messages,
          maxRetries: 0,
          ...(hasTools && { tools: offered }),
          ...(thinks && { providerOptions: provider.thinking(model) }),
        }
        const result = stream ? await streamed(request) : await generateText(request)
        messages.push(...result.responseMessages)
        calls = result.toolCalls.map(({ toolCallId: id, toolName, input }) => ({ id, name: toolName, input }))
        return {
          text: result.text,
          thinking: result.reasoningText ?? '',
          calls,
          end: endOf(result.finishReason),
          inputTokens: result.usage.inputTokens ?? 0,
          outputTokens: result.usage.outputTokens ?? 0,
        }
      }

      return {
        continueWith(next) {
          model = next
        },
        say(prompt) {
          messages.push({ role: 'user', content: contentOf(prompt) })
          return turn()
        },
        answer(results) {
          messages.push({
            role: 'tool',
            content: results.map((value, at) => ({
              type: 'tool-result',
              toolCallId: calls[at]?.id ?? '',
              toolName: calls[at]?.name ?? '',
              output: { type: 'text', value },
            })),
          })
          return turn()
        },
      }
    },
  }
}

async function streamed(request: Parameters<typeof streamText>[0]) {
  let failure: unknown
  const result = streamText({
    ...request,
    onError: ({ error }) => {
      failure ??= error
    },
  })
  await result.consumeStream()
  if (failure !== undefined) throw failure
  return {
    text: await result.text,
    reasoningText: await result.reasoningText,
    toolCalls: await result.toolCalls,
    finishReason: await result.finishReason,
    usage: await result.usage,
    responseMessages: await result.responseMessages,
  }
}

function contentOf({ text, image }: Prompt) {
  if (image === undefined) return text
  return [
    { type: 'text' as const, text },
    { type: 'file' as const, data: image, mediaType: 'image/png' },
  ]
}

function endOf(reason: FinishReason): Said['end'] {
  switch (reason) {
    case 'stop':
      return 'end'
    case 'length':
      return 'length'
    case 'tool-calls':
      return 'calls'
    case 'content-filter':
      return 'filter'
    default:
      throw new Error(`the answer ended with ${reason}`)
  }
}
