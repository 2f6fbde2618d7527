import type { ChatCompletion, ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import { clientOf } from '../client.ts'
import { tools } from './speaker.ts'
import type { Prompt, Said, Speaker } from './speaker.ts'

type Request = Omit<ChatCompletionCreateParams, 'stream'>
type Message = Request['messages'][number]

const ends = {
  stop: 'end',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'filter',
} as const

/** `openai`, chat completions. Sends Copilot's two reasoning members back, as Copilot's own clients do. */
export const openaiChat: Speaker = {
  name: 'openai chat',
  dialect: 'chat',
  keepsThoughts: true,
  open(proxy, { model: first, stream, hasTools, thinks }) {
    let model = first
    const openai = clientOf(proxy)
    const messages: Message[] = []
    let called: readonly string[] = []

    async function turn(): Promise<Said> {
      const request: Request = {
        model,
        messages,
        ...(hasTools && {
          tools: tools.map(({ name, description, schema }) => ({
            type: 'function',
            function: { name, description, parameters: { ...schema } },
          })),
        }),
        ...(thinks && { reasoning_effort: 'high' }),
      }
      const { completion, thoughts } = stream
        ? await streamed(request)
        : plain(await openai.chat.completions.create({ ...request, stream: false }))
      const { message, finish_reason: reason } = only(completion.choices)
      const { role, content, refusal, tool_calls: calls = [] } = message
      messages.push({
        role,
        content,
        ...(refusal !== null && { refusal }),
        ...(calls.length > 0 && { tool_calls: calls }),
        ...thoughts,
      })
      const functions = calls.flatMap((call) => (call.type === 'function' ? [call] : []))
      called = functions.map(({ id }) => id)
      return {
        text: (content ?? '') + (refusal ?? ''),
        thinking: thoughts.reasoning_text ?? '',
        calls: functions.map(({ id, function: { name, arguments: text } }) => ({ id, name, input: JSON.parse(text) })),
        end: ends[reason],
        inputTokens: completion.usage?.prompt_tokens ?? 0,
        outputTokens: completion.usage?.completion_tokens ?? 0,
      }
    }

    /** The helper builds the message, but omits unknown members. */
    async function streamed(request: Request) {
      const runner = openai.chat.completions.stream({ ...request, stream_options: { include_usage: true } })
      const thoughts: Thoughts = {}
      for await (const chunk of runner) {
        const found = thoughtsOf(chunk.choices[0]?.delta)
        if (found.reasoning_text) thoughts.reasoning_text = (thoughts.reasoning_text ?? '') + found.reasoning_text
        if (found.reasoning_opaque) thoughts.reasoning_opaque = found.reasoning_opaque
      }
      return { completion: await runner.finalChatCompletion(), thoughts }
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
        for (const [at, content] of results.entries()) {
          messages.push({ role: 'tool', tool_call_id: called[at] ?? '', content })
        }
        return turn()
      },
    }
  },
}

function contentOf({ text, image }: Prompt) {
  if (image === undefined) return text
  return [
    { type: 'text' as const, text },
    { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${image}` } },
  ]
}

/** Copilot's own members, which the package's types do not have. */
interface Thoughts {
  reasoning_text?: string
  reasoning_opaque?: string
}

function thoughtsOf(value: object | undefined): Thoughts {
  const found: Thoughts = {}
  for (const [key, inner] of Object.entries(value ?? {})) {
    if ((key === 'reasoning_text' || key === 'reasoning_opaque') && typeof inner === 'string') found[key] = inner
  }
  return found
}

function plain(completion: ChatCompletion) {
  return { completion, thoughts: thoughtsOf(only(completion.choices).message) }
}

function only<Item>(list: readonly Item[]): Item {
  const [first] = list
  if (first === undefined || list.length > 1) throw new Error(`${list.length} choices instead of one`)
  return first
}
