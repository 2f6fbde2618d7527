import type { Response, ResponseCreateParams, ResponseInputItem } from 'openai/resources/responses/responses'
import { clientOf } from '../client.ts'
import { tools } from './speaker.ts'
import type { Prompt, Said, Speaker } from './speaker.ts'

type Request = Omit<ResponseCreateParams, 'stream'>

/** `openai`, responses: nothing is stored, and the whole output is sent back. */
export const openaiResponses: Speaker = {
  name: 'openai responses',
  dialect: 'responses',
  keepsThoughts: true,
  open(proxy, { model: first, stream, hasTools, thinks }) {
    let model = first
    const openai = clientOf(proxy)
    const input: ResponseInputItem[] = []
    let called: readonly string[] = []

    async function turn(): Promise<Said> {
      const request: Request = {
        model,
        input,
        store: false,
        include: ['reasoning.encrypted_content'],
        ...(hasTools && {
          tools: tools.map(({ name, description, schema }) => ({
            type: 'function',
            name,
            description,
            parameters: { ...schema },
            strict: false,
          })),
        }),
        ...(thinks && { reasoning: { effort: 'high', summary: 'auto' } }),
      }
      const response = stream
        ? await openai.responses.stream(request).finalResponse()
        : await openai.responses.create({ ...request, stream: false })
      input.push(...response.output.map(toInput))
      const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
      called = calls.map(({ call_id: id }) => id)
      return {
        text: textOf(response),
        thinking: response.output
          .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
          .join(''),
        calls: calls.map(({ call_id: id, name, arguments: text }) => ({ id, name, input: JSON.parse(text) })),
        end: endOf(response),
        inputTokens: response.usage?.input_tokens ?? 0,
        outputTokens: response.usage?.output_tokens ?? 0,
      }
    }

    return {
      continueWith(next) {
        model = next
      },
      say(prompt) {
        input.push({ role: 'user', content: contentOf(prompt) })
        return turn()
      },
      answer(results) {
        for (const [at, output] of results.entries()) {
          input.push({ type: 'function_call_output', call_id: called[at] ?? '', output })
        }
        return turn()
      },
    }
  },
}

/** Sends every item back unchanged, without the `parsed_arguments` that the helper adds. */
function toInput(item: Response['output'][number]): ResponseInputItem {
  const { parsed_arguments: _, ...rest } = { parsed_arguments: undefined, ...item }
  // The package's own guide sends output back as input; its types differ in what no model here puts out.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return rest as ResponseInputItem
}

function contentOf({ text, image }: Prompt) {
  if (image === undefined) return text
  return [
    { type: 'input_text' as const, text },
    { type: 'input_image' as const, detail: 'auto' as const, image_url: `data:image/png;base64,${image}` },
  ]
}

function textOf({ output }: Response): string {
  return output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : part.refusal))
    .join('')
}

function endOf({ status, incomplete_details: details, output }: Response): Said['end'] {
  if (status === 'incomplete') return details?.reason === 'content_filter' ? 'filter' : 'length'
  return output.some(({ type }) => type === 'function_call') ? 'calls' : 'end'
}
