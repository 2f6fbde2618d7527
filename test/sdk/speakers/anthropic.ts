import type { MessageCreateParamsNonStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { anthropicOf } from '../client.ts'
import { tools } from './speaker.ts'
import type { Prompt, Said, Speaker } from './speaker.ts'

const ends = {
  end_turn: 'end',
  stop_sequence: 'end',
  pause_turn: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filter',
} as const

/** `@anthropic-ai/sdk`, messages. */
export const anthropicMessages: Speaker = {
  name: 'anthropic messages',
  dialect: 'messages',
  keepsThoughts: true,
  open(proxy, { model: first, stream, hasTools, thinks }) {
    let model = first
    const anthropic = anthropicOf(proxy)
    const messages: MessageParam[] = []
    let called: readonly string[] = []

    async function turn(): Promise<Said> {
      const request: MessageCreateParamsNonStreaming = {
        model,
        messages,
        max_tokens: 8000,
        ...(hasTools && {
          tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
        }),
        ...(thinks && { thinking: thinkingOf(model) }),
      }
      const {
        content,
        stop_reason: reason,
        usage,
      } = stream ? await anthropic.messages.stream(request).finalMessage() : await anthropic.messages.create(request)
      messages.push({ role: 'assistant', content })
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
      called = calls.map(({ id }) => id)
      return {
        text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        thinking: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
        calls: calls.map(({ id, name, input }) => ({ id, name, input })),
        end: ends[reason ?? 'end_turn'],
        inputTokens:
          usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
        outputTokens: usage.output_tokens,
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
          role: 'user',
          content: results.map((content, at) => ({ type: 'tool_result', tool_use_id: called[at] ?? '', content })),
        })
        return turn()
      },
    }
  },
}

/** The request for thinking that Claude Code makes, by model id. */
function thinkingOf(model: string) {
  return model.includes('4.5')
    ? ({ type: 'enabled', budget_tokens: 4000 } as const)
    : ({ type: 'adaptive', display: 'summarized' } as const)
}

function contentOf({ text, image }: Prompt) {
  if (image === undefined) return text
  return [
    { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: image } },
    { type: 'text' as const, text },
  ]
}
