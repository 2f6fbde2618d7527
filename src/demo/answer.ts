import { textOf } from './chat-request.ts'
import type { ChatRequest, ChatTool } from './chat-request.ts'
import { describeMarkers, markerNumber } from './markers.ts'
import type { Markers } from './markers.ts'
import type { DemoModel } from './models.ts'
import { sampleValue } from './sample-value.ts'

interface AnswerCall {
  readonly id: string
  readonly name: string
  /** JSON text; `{}` for a tool without parameters. */
  readonly arguments: string
}

/** What the model says, before a family's habits turn it into events. Pieces concatenate to the whole text. */
export interface Answer {
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly refusal: readonly string[]
  readonly calls: readonly AnswerCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
}

export interface AnswerSource {
  readonly request: ChatRequest
  /** The body as it was received, for `[demo:echo]`. */
  readonly bodyText: string
  readonly model: DemoModel
  readonly markers: Markers
  /** Number of the reply: makes call ids unique and reproducible. */
  readonly number: number
}

/** Longest part of the user's text that the default answer repeats. Characters. */
const ECHO_LIMIT = 4000

const EMPTY: Answer = { reasoning: [], text: [], refusal: [], calls: [], finish: 'stop' }

/** The same request, markers and number always give the same answer. */
export function composeAnswer(source: AnswerSource): Answer {
  const { model, markers } = source
  const reasoning = markers.asked.has('reasoning')
    ? toPieces('The user wants to see thinking. This simulated model has none, so it says so and answers.')
    : []
  const calls = callsOf(source)
  if (calls.length > 0) {
    const runsAway = markers.asked.has('whitespace')
    // Claude announces its calls in text, which its stream then carries in a choice of its own.
    const text = model.habit === 'claude' ? toPieces(`I will call ${calls.map((each) => each.name).join(', ')}.`) : []
    return { ...EMPTY, reasoning, text, calls, finish: runsAway ? 'length' : 'tool_calls' }
  }
  if (markers.asked.has('refusal')) {
    const words = toPieces('I cannot help with that (simulated refusal).')
    return isGpt(model) ? { ...EMPTY, reasoning, refusal: words } : { ...EMPTY, reasoning, text: words }
  }
  return { ...EMPTY, reasoning, ...limited(toPieces(wordsOf(source)), source) }
}

/** Cuts text into pieces like those of a real stream: a word with the space after it, long words in parts. */
function toPieces(text: string): readonly string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? []
}

/** The last message the user wrote; '' where there is none. */
export function lastUserText({ messages }: ChatRequest): string {
  const message = messages.findLast((each) => each.role === 'user')
  return message === undefined ? '' : textOf(message)
}

/** Last message is the result of a tool call. */
export function isAfterTool({ messages }: ChatRequest): boolean {
  return messages.at(-1)?.role === 'tool'
}

function limited(text: readonly string[], { request, markers }: AnswerSource): Pick<Answer, 'text' | 'finish'> {
  const half = text.slice(0, Math.ceil(text.length / 2))
  if (markers.asked.has('length')) return { text: half, finish: 'length' }
  if (markers.asked.has('filter')) return { text: half, finish: 'content_filter' }
  const most = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  return text.length > most ? { text: text.slice(0, most), finish: 'length' } : { text, finish: 'stop' }
}

function wordsOf({ request, bodyText, model, markers }: AnswerSource): string {
  if (isAfterTool(request)) return `The tool answered: ${toolResults(request)}`
  if (markers.unknown.length > 0) {
    return `I do not know ${markers.unknown.join(' ')}. These markers work in --demo:\n${describeMarkers()}`
  }
  if (markers.asked.has('help')) return `These markers work in --demo:\n${describeMarkers()}`
  if (markers.asked.has('echo')) return bodyText
  const words = markerNumber(markers, 'long', 0)
  if (words > 0) return longText(words)
  if (markers.asked.has('tool') || markers.asked.has('tools') || markers.asked.has('whitespace')) {
    return 'There is no tool to call: send tools (and no tool_choice "none") with the request.'
  }
  const format = request.response_format
  if (format?.type === 'json_schema') return JSON.stringify(sampleValue(format.json_schema?.schema ?? {}))
  if (format?.type === 'json_object') return JSON.stringify({ answer: `simulated by ${model.id}` })
  const said = lastUserText(request)
  const shown = said.length > ECHO_LIMIT ? `${said.slice(0, ECHO_LIMIT)}…` : said
  return `Hello from ${model.id}, simulated by copilot-proxy --demo. You said: ${shown}`
}

/** Results after the last assistant message, one per line. */
function toolResults({ messages }: ChatRequest): string {
  const from = messages.findLastIndex((message) => message.role !== 'tool') + 1
  return messages.slice(from).map(textOf).join('\n')
}

const LONG_WORDS = ['simulated', 'words', 'flow', 'one', 'after', 'another', 'until', 'the', 'count', 'is', 'reached.']

function longText(count: number): string {
  return Array.from({ length: count }, (_, at) => LONG_WORDS[at % LONG_WORDS.length]).join(' ')
}

function callsOf(source: AnswerSource): readonly AnswerCall[] {
  const { request, model, markers, number } = source
  const tools = request.tools ?? []
  if (isAfterTool(request) || request.tool_choice === 'none') return []
  return pickTools(tools, source).map(({ function: { name, parameters } }, at) => ({
    id: `${model.habit === 'claude' ? 'toolu_vrtx_demo' : 'call_demo'}_${number}_${at}`,
    name,
    arguments: markers.asked.has('whitespace')
      ? `{"text":${' \t\n\r'.repeat(RUNAWAY_REPEATS)}`
      : JSON.stringify(parameters === undefined ? {} : sampleValue(parameters)),
  }))
}

/** 4 characters each: far above any sane indentation, small enough to read to the end. */
const RUNAWAY_REPEATS = 1000

function pickTools(tools: readonly ChatTool[], { request, markers }: AnswerSource): readonly ChatTool[] {
  const [first, second = first] = tools
  if (first === undefined || second === undefined) return []
  if (markers.asked.has('tools')) return [first, second]
  const named = (name: string | undefined): ChatTool[] => [tools.find((tool) => tool.function.name === name) ?? first]
  if (markers.asked.has('tool')) return named(markers.asked.get('tool')?.[0])
  if (markers.asked.has('whitespace')) return [first]
  const choice = request.tool_choice
  if (typeof choice === 'object') return named(choice.function?.name)
  return choice === 'required' ? [first] : []
}

function isGpt({ habit }: DemoModel): boolean {
  return habit === 'gpt-4' || habit === 'gpt-5'
}
