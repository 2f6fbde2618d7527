import { objectsOf, parseObject } from '../json/json.ts'
import { sampleValue } from '../json/sample-value.ts'
import type { Model } from '../models/model.ts'
import type { CustomTool, FunctionTool, Turn } from '../translate/turn.ts'
import { conversationOf } from './conversation.ts'
import type { Conversation } from './conversation.ts'
import { describeMarkers, markerNumber, parseMarkers } from './markers.ts'
import type { Markers, ToolMarker } from './markers.ts'
import type { ScriptStep } from './script.ts'

/** What the simulated model says and does. */
export interface Answer {
  readonly thought: string
  /** Query of a web search that the model ran; '' for no search. */
  readonly search: string
  readonly text: string
  readonly isRefusal: boolean
  readonly calls: readonly { readonly tool: CallableTool; readonly arguments: string }[]
  readonly end: 'end' | 'stop_sequence' | 'tool_calls' | 'max_tokens' | 'content_filter'
  /** The caller's stop text that ended the answer; '' for none. */
  readonly stopText: string
}

type CallableTool = Pick<FunctionTool | CustomTool, 'type' | 'name' | 'namespace'> & Pick<FunctionTool, 'parameters'>

/** A request as the simulated model reads it. */
export interface Prompt {
  readonly model: Model
  readonly turn: Turn
  /** As it was received, for `[demo:echo]`. */
  readonly body: string
  readonly conversation: Conversation
  readonly markers: Markers
}

export function promptOf(turn: Turn, model: Model, body: string): Prompt {
  const conversation = conversationOf(turn)
  return { model, turn, body, conversation, markers: parseMarkers(conversation.prompt) }
}

const nothing: Answer = {
  thought: '',
  search: '',
  text: '',
  isRefusal: false,
  calls: [],
  end: 'end',
  stopText: '',
}

export function composeAnswer(prompt: Prompt): Answer {
  const { conversation, markers, turn } = prompt
  const base = { ...nothing, thought: thoughtOf(prompt) }
  if (conversation.step !== undefined) return { ...base, ...scripted(conversation.step, turn) }
  const calls = callsOf(prompt)
  if (typeof calls === 'string') return { ...base, text: calls }
  if (calls.length > 0) {
    if (!markers.asked.has('length')) return { ...base, calls, end: 'tool_calls' }
    const cut = calls.slice(-1).map(({ tool, arguments: text }) => ({ tool, arguments: half(text) }))
    return { ...base, calls: [...calls.slice(0, -1), ...cut], end: 'max_tokens' }
  }
  if (markers.asked.has('refusal')) {
    return { ...base, text: 'I cannot help with that (simulated refusal).', isRefusal: true }
  }
  return { ...base, search: hasSearch(turn) ? queryOf(prompt) : '', ...limited(textOf(prompt), prompt) }
}

function scripted({ text = '', calls = [], cut = false }: ScriptStep, turn: Turn): Partial<Answer> {
  const made = calls.map(({ tool, args = {}, raw = JSON.stringify(args) }) => ({
    tool: findTool(tool, turn) ?? { type: 'function' as const, name: tool },
    arguments: raw,
  }))
  return { text, calls: made, end: cut ? 'max_tokens' : made.length > 0 ? 'tool_calls' : 'end' }
}

function thoughtOf({ turn: { reasoning }, markers }: Prompt): string {
  if (reasoning?.mode === 'disabled' || reasoning?.effort === 'none') return ''
  if (markers.asked.has('reasoning')) {
    return 'The user wants to see thinking. This simulated model has none, so it says so and answers.'
  }
  return reasoning?.mode === 'enabled' ? 'Nothing to think about.' : ''
}

function limited(text: string, { turn, markers }: Prompt): Pick<Answer, 'text' | 'end' | 'stopText'> {
  if (markers.asked.has('length')) return { text: half(text), end: 'max_tokens', stopText: '' }
  if (markers.asked.has('filter')) return { text: half(text), end: 'content_filter', stopText: '' }
  const stops = turn.stop.filter((each) => each !== '' && text.includes(each))
  const [first] = stops.toSorted((one, other) => text.indexOf(one) - text.indexOf(other))
  const words = piecesOf(first === undefined ? text : text.slice(0, text.indexOf(first)))
  const { maxOutputTokens = Infinity } = turn
  if (words.length > maxOutputTokens) {
    return { text: words.slice(0, maxOutputTokens).join(''), end: 'max_tokens', stopText: '' }
  }
  return { text: words.join(''), end: first === undefined ? 'end' : 'stop_sequence', stopText: first ?? '' }
}

/** Cuts text into pieces like those of a real stream: a word with the space after it, long words in parts. */
export function piecesOf(text: string): readonly string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? []
}

function half(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2))
}

/** Longest part of the user's text that the default answer repeats. Characters. */
const echoLimit = 4000

function textOf(prompt: Prompt): string {
  const { model, turn, conversation, markers } = prompt
  if (conversation.results.length > 0) return `The tool answered: ${conversation.results.join('\n')}`
  if (markers.unknown.length > 0) {
    return `I do not know ${markers.unknown.join(' ')}. These markers work in --demo:\n${describeMarkers()}`
  }
  if (markers.asked.has('help')) return `These markers work in --demo:\n${describeMarkers()}`
  if (markers.asked.has('echo')) return prompt.body
  const count = markerNumber(markers, 'long', 0)
  if (count > 0) return longText(count)
  if (markers.asked.has('tool') || markers.asked.has('tools')) {
    return 'There is no tool to call: send tools (and no tool_choice "none") with the request.'
  }
  if (markers.asked.has('search')) {
    return hasSearch(turn)
      ? 'Simulated search results say so.'
      : 'There is no web search: send a web search tool with the request.'
  }
  if (isSearchOnly(turn)) return pagesAbout(queryOf(prompt), turn)
  if (turn.format?.type === 'json_schema') return JSON.stringify(sampleValue(turn.format.schema))
  if (turn.format?.type === 'json_object') return JSON.stringify({ answer: `simulated by ${model.id}` })
  const said = conversation.prompt
  const repeated = said.length > echoLimit ? `${said.slice(0, echoLimit)}…` : said
  const seen = conversation.images.map((image) => `I see an image, ${image}. `)
  return `Hello from ${model.id}, simulated by copilot-proxy --demo. ${seen.join('')}You said: ${repeated}`
}

const longWords = ['simulated', 'words', 'flow', 'one', 'after', 'another', 'until', 'the', 'count', 'is', 'reached.']

function longText(count: number): string {
  return Array.from({ length: count }, (_, at) => longWords[at % longWords.length]).join(' ')
}

function hasSearch({ tools }: Turn): boolean {
  return tools.some(({ type }) => type === 'web_search')
}

/** A model whose only tool is web search always searches, as it does for the searches that the proxy runs. */
function isSearchOnly(turn: Turn): boolean {
  return turn.tools.length === 1 && hasSearch(turn) && turn.toolChoice?.type !== 'none'
}

function queryOf({ turn, conversation, markers }: Prompt): string {
  const query = markers.asked.get('search')
  if (query !== undefined) return query.join(' ') || 'simulated'
  return isSearchOnly(turn) ? conversation.prompt : ''
}

/** Text about two invented pages that mention the query, with citations in GPT's form. */
function pagesAbout(query: string, { tools }: Turn): string {
  const domains = tools.flatMap((tool) => (tool.type === 'web_search' ? (tool.allowedDomains ?? []) : []))
  const [first = 'example.com', second = 'example.org'] = domains
  const slug = encodeURIComponent(query.replaceAll(/\W+/g, '-').slice(0, 40).toLowerCase())
  return (
    `A first simulated page is about ${query} ([Page one](https://${first}/${slug})). ` +
    `A second one says the same of it ([Page two](https://${second}/${slug})).`
  )
}

/** The calls to make, or the answer's text if a marker names a tool that the request does not offer. */
function callsOf(prompt: Prompt): Answer['calls'] | string {
  const { turn, conversation } = prompt
  if (conversation.results.length > 0 || turn.toolChoice?.type === 'none') return []
  const wanted = wantedTools(prompt)
  if (typeof wanted === 'string') return wanted
  return (turn.parallelToolCalls === false ? wanted.slice(0, 1) : wanted).map(({ tool, json }) => ({
    tool,
    arguments: argumentsOf(tool, json, prompt),
  }))
}

interface WantedTool {
  readonly tool: CallableTool
  readonly json?: string | undefined
}

function wantedTools({ turn, markers }: Prompt): readonly WantedTool[] | string {
  const tools = callableTools(turn)
  const [first, second = first] = tools
  if (first === undefined || second === undefined) return []
  if (markers.asked.has('tools')) return [{ tool: first }, { tool: second }]
  if (markers.tools.length > 0) return namedTools(markers.tools, turn)
  const choice = turn.toolChoice
  if (choice?.type === 'tool') return [{ tool: findTool(choice.name, turn) ?? first }]
  if (choice?.type === 'required') return [{ tool: first }]
  if (choice?.type === 'allowed' && choice.mode === 'required') {
    return [{ tool: findTool(choice.tools[0]?.name ?? '', turn) ?? first }]
  }
  // The proxy offers this function to models without web search.
  return tools.length === 1 && first.name === 'web_search' ? [{ tool: first }] : []
}

function namedTools(asked: readonly ToolMarker[], turn: Turn): readonly WantedTool[] | string {
  const wanted: WantedTool[] = []
  const tools = callableTools(turn)
  for (const { name, json } of asked) {
    const tool = name === '' ? tools[0] : findTool(name, turn)
    if (tool === undefined) {
      return `There is no tool ${name} to call. Offered: ${tools.map((each) => each.name).join(', ')}`
    }
    wanted.push({ tool, json })
  }
  return wanted
}

function callableTools({ tools }: Turn): readonly CallableTool[] {
  return tools.filter((tool) => tool.type === 'function' || tool.type === 'custom')
}

/** Finds a tool by its name, or by namespace and name joined as translated requests join them. */
function findTool(name: string, turn: Turn): CallableTool | undefined {
  return callableTools(turn).find((tool) => tool.name === name || `${tool.namespace}__${tool.name}` === name)
}

function argumentsOf(tool: CallableTool, json: string | undefined, { conversation: { prompt } }: Prompt): string {
  if (tool.type === 'custom') {
    const value: unknown = json === undefined ? 'example input' : JSON.parse(json)
    return typeof value === 'string' ? value : (json ?? '')
  }
  if (json !== undefined) return json
  if (tool.name === 'web_search') {
    return JSON.stringify({
      query:
        prompt
          .split(/query: */)
          .at(-1)
          ?.trim() || 'simulated',
    })
  }
  if (tool.name === verdictTool) return verdictsOn(prompt)
  return JSON.stringify(tool.parameters === undefined ? {} : sampleValue(tool.parameters))
}

/** The tool with which a model reports its verdicts on the calls of an answer (translate/safeguards/check-request.ts). */
const verdictTool = 'report_verdicts'

/** Commands that the simulated classifier flags. */
const dangerous = /\brm -\w*r|\bgit push\b.*--force/

/** Arguments of the report on the calls that the prompt lists, one JSON value per line. */
function verdictsOn(prompt: string): string {
  const calls = objectsOf(prompt.split('\n').map(parseObject)).filter(({ call }) => typeof call === 'number')
  const verdicts = calls.map(({ call, arguments: given }) => {
    const isDangerous = dangerous.test(JSON.stringify(given))
    const reason = isDangerous ? 'It deletes or overwrites what cannot be restored' : 'Harmless'
    return { call, outcome: isDangerous ? 'flagged' : 'not_flagged', reason: `${reason} (simulated).` }
  })
  return JSON.stringify({ verdicts })
}
