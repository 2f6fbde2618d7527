import { describeImage, lastImages, lastResults, promptOf } from './conversation.ts'
import type { Conversation, OfferedTool } from './conversation.ts'
import { describeMarkers, markerNumber } from './markers.ts'
import type { Markers } from './markers.ts'
import type { DemoModel } from '../copilot/catalogue-models.ts'
import { verdictsOn, verdictTool } from './call-verdicts.ts'
import { sampleValue } from '../../../src/json/sample-value.ts'
import { scriptStep } from './script-step.ts'
import type { ScriptStep } from './script.ts'

export interface AnswerCall {
  readonly id: string
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string | undefined
  /** JSON text, `{}` for a tool without parameters; plain text for a custom tool. */
  readonly arguments: string
}

/** The model's answer before `profile` turns it into events. The pieces of a list concatenate to the whole text. */
export interface Answer {
  readonly reasoning: readonly string[]
  /** `[demo:redacted]`: the caller gets no readable reasoning, even if the dialect could show it. */
  readonly isRedacted: boolean
  /** Query of a web search that the model ran; '' for no search. */
  readonly search: string
  readonly text: readonly string[]
  readonly refusal: readonly string[]
  readonly calls: readonly AnswerCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** The caller's stop text that ended the answer; '' for none. */
  readonly stopText: string
}

export interface AnswerSource {
  readonly conversation: Conversation
  /** The body as it was received, for `[demo:echo]`. */
  readonly bodyText: string
  readonly model: Pick<DemoModel, 'id' | 'profile'>
  readonly markers: Markers
  /** Number of the reply: makes call ids unique and reproducible. */
  readonly number: number
}

/** Longest part of the user's text that the default answer repeats. Characters. */
const ECHO_LIMIT = 4000

const EMPTY: Answer = {
  reasoning: [],
  isRedacted: false,
  search: '',
  text: [],
  refusal: [],
  calls: [],
  finish: 'stop',
  stopText: '',
}

/** The same request, markers and number always give the same answer. */
export function composeAnswer(source: AnswerSource): Answer {
  const { conversation, model, markers } = source
  const thought = { reasoning: thoughtsOf(source), isRedacted: markers.asked.has('redacted') }
  const step = scriptStep(conversation)
  if (step !== undefined) return { ...EMPTY, ...thought, ...scripted(step, source) }
  const { calls, missing } = callsOf(source)
  if (calls.length > 0) {
    const isCut = markers.asked.has('whitespace') || markers.asked.has('length')
    // Claude announces its calls in text. Its chat stream carries this text in a separate choice.
    const text = model.profile === 'claude' ? toPieces(`I will call ${calls.map((each) => each.name).join(', ')}.`) : []
    return { ...EMPTY, ...thought, text, calls, finish: isCut ? 'length' : 'tool_calls' }
  }
  if (missing !== '') return { ...EMPTY, ...thought, text: toPieces(missing) }
  if (markers.asked.has('refusal')) {
    const words = toPieces('I cannot help with that (simulated refusal).')
    return isGpt(model) ? { ...EMPTY, ...thought, refusal: words } : { ...EMPTY, ...thought, text: words }
  }
  const search = conversation.hasWebSearch ? searchOf(source) : ''
  return { ...EMPTY, ...thought, search, ...limited(wordsOf(source), source) }
}

function scripted({ text = '', calls = [], cut = false }: ScriptStep, source: AnswerSource): Partial<Answer> {
  const made = calls.map(({ tool, args = {}, raw = JSON.stringify(args) }, at): AnswerCall => {
    const { name, namespace } = findTool(tool, source.conversation.tools) ?? { name: tool }
    return { id: callId(source, tool, at), kind: 'function', name, namespace, arguments: raw }
  })
  return { text: toPieces(text), calls: made, finish: cut ? 'length' : made.length > 0 ? 'tool_calls' : 'stop' }
}

/** Cuts text into pieces like those of a real stream: a word with the space after it, long words in parts. */
function toPieces(text: string): readonly string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? []
}

function thoughtsOf({ conversation: { thinks }, markers: { asked } }: AnswerSource): readonly string[] {
  if (thinks === 'never') return []
  if (asked.has('reasoning') || asked.has('replay') || asked.has('redacted')) {
    return toPieces('The user wants to see thinking. This simulated model has none, so it says so and answers.')
  }
  return thinks === 'always' ? toPieces('Nothing to think about.') : []
}

function limited(words: string, { conversation, markers }: AnswerSource): Pick<Answer, 'text' | 'finish' | 'stopText'> {
  const { text, stopText } = stopped(words, conversation.stop)
  const pieces = toPieces(text)
  const half = pieces.slice(0, Math.ceil(pieces.length / 2))
  if (markers.asked.has('length')) return { text: half, finish: 'length', stopText: '' }
  if (markers.asked.has('filter')) return { text: half, finish: 'content_filter', stopText: '' }
  return pieces.length > conversation.maxOutput
    ? { text: pieces.slice(0, conversation.maxOutput), finish: 'length', stopText: '' }
    : { text: pieces, finish: 'stop', stopText }
}

/** The text up to the first stop text that occurs in it. */
function stopped(text: string, stop: readonly string[]): { readonly text: string; readonly stopText: string } {
  let end = text.length
  let stopText = ''
  for (const each of stop) {
    const at = each === '' ? -1 : text.indexOf(each)
    if (at >= 0 && at < end) {
      end = at
      stopText = each
    }
  }
  return { text: text.slice(0, end), stopText }
}

function wordsOf(source: AnswerSource): string {
  const { conversation, bodyText, model, markers } = source
  const results = lastResults(conversation)
  if (results.length > 0) {
    return `The tool answered: ${results.map(resultText).join('\n')}`
  }
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
  const found = searchOf(source)
  if (conversation.searchOnly !== undefined && !markers.asked.has('search') && found !== '') {
    return pagesAbout(found, conversation.searchOnly.domains)
  }
  if (markers.asked.has('search')) {
    return conversation.hasWebSearch
      ? 'Simulated search results say so.'
      : 'There is no web search: send a web_search tool with the request, on /responses.'
  }
  const { format } = conversation
  if (format?.type === 'json_schema') return JSON.stringify(sampleValue(format.schema))
  if (format?.type === 'json_object') return JSON.stringify({ answer: `simulated by ${model.id}` })
  const said = promptOf(conversation)
  const repeated = said.length > ECHO_LIMIT ? `${said.slice(0, ECHO_LIMIT)}…` : said
  const seen = lastImages(conversation).map((image) => `I see an image, ${describeImage(image)}. `)
  return `Hello from ${model.id}, simulated by copilot-proxy --demo. ${seen.join('')}You said: ${repeated}`
}

function resultText({ text, images }: ReturnType<typeof lastResults>[number]): string {
  const shown = images.map((image) => `[image, ${describeImage(image)}]`)
  return [...(text === '' ? [] : [text]), ...shown].join(' ')
}

/** A model whose only tool is web search always searches. */
function searchOf({ conversation, markers }: AnswerSource): string {
  const query = markers.asked.get('search')
  if (query !== undefined) return query.join(' ') || 'simulated'
  return conversation.searchOnly === undefined || conversation.choice === 'none' ? '' : promptOf(conversation)
}

/** Text about two invented pages that mention the query, with citations in GPT's form. */
function pagesAbout(query: string, [first = 'example.com', second = 'example.org']: readonly string[]): string {
  const slug = encodeURIComponent(query.replaceAll(/\W+/g, '-').slice(0, 40).toLowerCase())
  return (
    `A first simulated page is about ${query} ([Page one](https://${first}/${slug})). ` +
    `A second one says the same of it ([Page two](https://${second}/${slug})).`
  )
}

const LONG_WORDS = ['simulated', 'words', 'flow', 'one', 'after', 'another', 'until', 'the', 'count', 'is', 'reached.']

function longText(count: number): string {
  return Array.from({ length: count }, (_, at) => LONG_WORDS[at % LONG_WORDS.length]).join(' ')
}

/** A tool to call, with the arguments from a marker. */
interface Wanted {
  readonly tool: OfferedTool
  readonly given?: string | undefined
}

/** The calls to make. `missing` is the answer's text if a marker names a tool that the request does not offer. */
function callsOf(source: AnswerSource): { readonly calls: readonly AnswerCall[]; readonly missing: string } {
  const { conversation, markers } = source
  if (lastResults(conversation).length > 0 || conversation.choice === 'none') return { calls: [], missing: '' }
  const { wanted, missing } = pickTools(source)
  const made = (conversation.isParallel ? wanted : wanted.slice(0, 1)).map(({ tool, given }, at) => ({
    id: callId(source, tool.name, at),
    kind: tool.kind,
    name: tool.name,
    namespace: tool.namespace,
    arguments: markers.asked.has('whitespace')
      ? `{"text":${' \t\n\r'.repeat(RUNAWAY_REPEATS)}`
      : argumentsOf(tool, given ?? ownArguments(tool, source)),
  }))
  return { calls: markers.asked.has('length') ? made.map(halfOfLast) : made, missing }
}

function callId({ conversation: { callsSoFar = 0 }, model, number }: AnswerSource, name: string, at: number): string {
  if (model.profile === 'kimi') return `${model.id.startsWith('kimi-k2') ? 'functions.' : ''}${name}:${callsSoFar + at}`
  return `${model.profile === 'claude' ? 'toolu_vrtx_demo' : 'call_demo'}_${number}_${at}`
}

/** Each repeat has 4 characters. The result is longer than any sane indentation and short enough to read to the end. */
const RUNAWAY_REPEATS = 1000

/** Returns the query of a simulated search: the text after "query:", or the whole prompt. */
function queryOf({ conversation }: AnswerSource): string {
  const prompt = promptOf(conversation)
  return JSON.stringify({ query: (prompt.split(/query: */).at(-1) ?? prompt).trim() || 'simulated' })
}

/** Arguments of tools that the proxy itself offers. Undefined for other tools. */
function ownArguments({ name }: OfferedTool, source: AnswerSource): string | undefined {
  if (name === 'web_search') return queryOf(source)
  return name === verdictTool ? verdictsOn(promptOf(source.conversation)) : undefined
}

function argumentsOf({ kind, schema }: OfferedTool, given: string | undefined): string {
  if (kind === 'function') return given ?? JSON.stringify(schema === undefined ? {} : sampleValue(schema))
  if (given === undefined) return 'example input'
  // The marker's parser has checked that this is JSON. A JSON string becomes its value, without the quotes.
  const value: unknown = JSON.parse(given)
  return typeof value === 'string' ? value : given
}

/** Cuts the arguments of the last call in half, because the output limit was reached there. */
function halfOfLast(call: AnswerCall, at: number, calls: readonly AnswerCall[]): AnswerCall {
  if (at < calls.length - 1) return call
  return { ...call, arguments: call.arguments.slice(0, Math.ceil(call.arguments.length / 2)) }
}

interface Picked {
  readonly wanted: readonly Wanted[]
  readonly missing: string
}

function pickTools({ conversation: { tools, choice }, markers }: AnswerSource): Picked {
  const [first, second = first] = tools
  if (first === undefined || second === undefined) return { wanted: [], missing: '' }
  if (markers.asked.has('tools')) return { wanted: [{ tool: first }, { tool: second }], missing: '' }
  if (markers.tools.length > 0) return named(markers.tools, tools)
  if (markers.asked.has('whitespace')) return { wanted: [{ tool: first }], missing: '' }
  if (typeof choice === 'object') return { wanted: [{ tool: findTool(choice.name, tools) ?? first }], missing: '' }
  // A model calls its only tool if that tool is a web search.
  const isOnlySearch = tools.length === 1 && first.name === 'web_search'
  return { wanted: choice === 'required' || isOnlySearch ? [{ tool: first }] : [], missing: '' }
}

function named(asked: Markers['tools'], tools: readonly OfferedTool[]): Picked {
  const wanted: Wanted[] = []
  for (const { name, given } of asked) {
    const tool = name === '' ? tools[0] : findTool(name, tools)
    if (tool === undefined) {
      const offered = tools.map((each) => each.name).join(', ')
      return { wanted: [], missing: `There is no tool ${name} to call. Offered: ${offered}` }
    }
    wanted.push({ tool, given })
  }
  return { wanted, missing: '' }
}

/** Finds a tool by its name, or by namespace and name joined as translated requests join them. */
function findTool(name: string, tools: readonly OfferedTool[]): OfferedTool | undefined {
  return tools.find((tool) => tool.name === name || `${tool.namespace}__${tool.name}` === name)
}

function isGpt({ profile }: AnswerSource['model']): boolean {
  return profile === 'gpt-4' || profile === 'gpt-5'
}
