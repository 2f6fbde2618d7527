import { isObject, type JsonObject } from '../../json/json.ts'
import type { FunctionTool, Turn, TurnTool, TurnToolChoice, WebSearchTool } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { withPath } from '../engine/origin.ts'
import { cacheControl, cacheOf, type LazyField, refuseAt } from './parts.ts'
import { isBlock, type MessagesRequest, type MessagesTool } from './wire.ts'

interface Placed {
  readonly tool: MessagesTool
  readonly path: string
}

/** The tools offered at the end of the conversation. */
export function decodeTools(request: MessagesRequest, warnings: Warning[]): readonly TurnTool[] {
  return offeredTools(request).flatMap((placed) => decodeTool(placed, warnings))
}

type WireTools = Pick<MessagesRequest, 'tools' | 'tool_choice'>

export function encodeTools(turn: Turn, warnings: Warning[]): WireTools {
  // `prepareTurn` has wrapped, refused or removed other kinds.
  const functions = turn.tools.filter((tool) => tool.type === 'function')
  const tools = functions.map((tool) => encodeTool(tool, warnings))
  if (tools.length === 0) return {}
  const choice = encodeChoice(turn)
  return { tools, ...(choice && { tool_choice: choice }) }
}

/**
 * Returns `tools` with the additions and removals in `system` messages applied. Source: Anthropic documentation, beta
 * `mid-conversation-tool-changes-2026-07-01`.
 */
function offeredTools({ tools, messages }: MessagesRequest): readonly Placed[] {
  const offered: Placed[] = (tools ?? []).map((tool, at) => ({ tool, path: `tools.${at}` }))
  const withdrawn = new Set<string>()
  messages.forEach(({ role, content }, at) => {
    if (role !== 'system' || typeof content === 'string') return
    content?.forEach((block, blockAt) => {
      const isAddition = isBlock(block, 'tool_addition')
      if (!isAddition && !isBlock(block, 'tool_removal')) return
      const { definition } = block.tool
      const name = definition?.name ?? block.tool.name ?? ''
      if (!isAddition) {
        withdrawn.add(name)
        return
      }
      withdrawn.delete(name)
      if (!isObject(definition)) return
      offered.push({ tool: definition, path: `messages.${at}.content.${blockAt}.tool.definition` })
    })
  })
  return withdrawn.size === 0 ? offered : offered.filter(({ tool }) => !withdrawn.has(tool.name ?? ''))
}

function decodeTool({ tool, path }: Placed, warnings: Warning[]): readonly TurnTool[] {
  const { type } = tool
  if (type === undefined || type === null || type === 'custom') return callerTool({ tool, path }, warnings)
  if (type.startsWith('web_search_')) return [webSearch(tool, path)]
  if (type.startsWith('tool_search_tool')) {
    warnings.push(everyToolOffered(() => path))
    return []
  }
  const known = clientToolOf(type)
  if (known !== undefined) {
    const { description, parameters } = known
    return [{ type: 'function', name: tool.name ?? known.name, description, parameters, ...cacheOf(tool), path }]
  }
  if (isObject(tool.input_schema) && typeof tool.name === 'string') return callerTool({ tool, path }, warnings)
  return [{ type: 'hosted', wireType: type, path }]
}

/** The warning for tool search and for deferred tools. */
export function everyToolOffered(field: LazyField): Warning {
  return { code: 'adapted', field: field(), detail: 'all tools are offered from the start, without tool search' }
}

/** The model may call the tool directly; other values of `allowed_callers` offer it to code execution. */
const DIRECT = 'direct'

function callerTool({ tool, path }: Placed, warnings: Warning[]): readonly TurnTool[] {
  if (isPlaceholder(tool)) {
    const detail = 'a deferred tool is offered to the model once it has a schema'
    warnings.push({ code: 'adapted', field: path, detail })
    return []
  }
  const { input_examples: examples, allowed_callers: callers } = tool
  if (Array.isArray(examples) && examples.length > 0) {
    warnings.push({ code: 'dropped', field: `${path}.input_examples`, detail: 'this model does not support examples' })
  }
  if (Array.isArray(callers) && !callers.includes(DIRECT)) {
    warnings.push({ code: 'dropped', field: `${path}.allowed_callers`, detail: 'this model calls all tools directly' })
  }
  return [
    {
      type: 'function',
      name: tool.name ?? '',
      description: tool.description ?? undefined,
      parameters: tool.input_schema ?? undefined,
      strict: tool.strict ?? undefined,
      ...cacheOf(tool),
      path,
    },
  ]
}

/** Claude Code announces tools that its tool search defines later. */
function isPlaceholder({ defer_loading: isDeferred, input_schema: schema }: MessagesTool): boolean {
  return isDeferred === true && (!isObject(schema) || Object.keys(schema).length === 0)
}

function encodeTool(tool: FunctionTool, warnings: Warning[]): MessagesTool {
  const { name, description, parameters, strict, cache, path } = tool
  if (strict === true) {
    const detail = 'not every backend of the provider enforces the schema; the model still gets it'
    warnings.push({ code: 'dropped', field: `${path}.strict`, detail })
  }
  // `prepareTurn` has made every schema an object schema.
  const schema = isObject(parameters) ? parameters : { type: 'object', properties: {} }
  const encoded = { name, ...(description && { description }), input_schema: schema, ...cacheControl(cache) }
  return withPath<MessagesTool>(encoded, path)
}

/** Members that other dialects also have, or that do not change the search. */
const SEARCH_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'name',
  'allowed_domains',
  'user_location',
  'cache_control',
  'defer_loading',
  'allowed_callers',
  'strict',
])

function webSearch(tool: MessagesTool, path: string): WebSearchTool {
  const { allowed_domains: allowed, blocked_domains: blocked, max_uses: uses, user_location: location } = tool
  return {
    type: 'web_search',
    allowedDomains: domainsIn(allowed),
    blockedDomains: domainsIn(blocked),
    maxUses: typeof uses === 'number' ? uses : undefined,
    userLocation: isObject(location) ? location : undefined,
    onlyThere: Object.keys(tool).filter((key) => !SEARCH_MEMBERS.has(key) && tool[key] !== null),
    path,
  }
}

function domainsIn(list: unknown): readonly string[] | undefined {
  const domains = Array.isArray(list) ? list.filter((domain) => typeof domain === 'string') : []
  return domains.length === 0 ? undefined : domains
}

export function decodeToolChoice({ tool_choice: choice }: MessagesRequest): TurnToolChoice | undefined {
  switch (choice?.type) {
    case undefined:
      return undefined
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return { type: 'tool', name: choice.name ?? '' }
    default:
      return refuseAt(() => 'tool_choice.type', 'expected auto, any, tool or none')
  }
}

/** Undefined if not stated, or if no tool may be called. */
export function decodeParallelCalls({ tool_choice: choice }: MessagesRequest): boolean | undefined {
  const disabled = choice?.disable_parallel_tool_use
  return typeof disabled !== 'boolean' || choice?.type === 'none' ? undefined : !disabled
}

function encodeChoice({ toolChoice, parallelToolCalls }: Turn): WireTools['tool_choice'] {
  const one = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  switch (toolChoice?.type) {
    case undefined:
      return parallelToolCalls === false ? { type: 'auto', ...one } : undefined
    case 'auto':
    case 'validated':
      return { type: 'auto', ...one }
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any', ...one }
    case 'tool':
      return { type: 'tool', name: toolChoice.name, ...one }
    case 'allowed':
      return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...one }
  }
}

/** A tool that Anthropic's models know by its type alone, as a function for other models. */
interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

const bash: ClientTool = {
  name: 'bash',
  description: 'Runs a command in a bash session that lasts: its directory and variables stay from call to call.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', description: 'The command to run. Required unless restart is true.' },
      restart: { type: 'boolean', description: 'True starts the session anew.' },
    },
  },
}

const edits = ['view', 'create', 'str_replace', 'insert']

/** The members of a tool that edits files, in the order in which the model reads them. */
function fileProperties(commands: readonly string[]) {
  return {
    command: { type: 'string', enum: commands },
    path: text('Path of the file or directory.'),
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      description: 'For view: first and last line to show, counted from 1; -1 as last is the end of the file.',
    },
    file_text: text('For create: the whole content of the file.'),
    old_str: text('For str_replace: the text to replace; it must occur exactly once.'),
    new_str: text('For str_replace: what replaces it; leave out to delete.'),
    insert_line: { type: 'integer', description: 'For insert: the line after which to insert; 0 is the beginning.' },
  }
}

const insertText = text('For insert: the text to insert.')

function text(description: string) {
  return { type: 'string', description }
}

function textEditor(name: string, properties: JsonObject): ClientTool {
  const parameters = { type: 'object', properties, required: ['command', 'path'] }
  return { name, description: 'Views, creates and edits text files.', parameters }
}

/** Until version 20250124 the tool could undo edits, and its insert command had `new_str`. */
const oldTextEditor = textEditor('str_replace_editor', {
  ...fileProperties([...edits, 'undo_edit']),
  new_str: text('For str_replace: what replaces it. For insert: the text to insert.'),
})

const newTextEditor = textEditor('str_replace_based_edit_tool', {
  ...fileProperties(edits),
  insert_text: insertText,
})

const memory: ClientTool = {
  name: 'memory',
  description: 'Keeps notes in files below /memories, which last from one conversation to the next. View it first.',
  parameters: {
    type: 'object',
    properties: {
      ...fileProperties([...edits, 'delete', 'rename']),
      path: text('Path below /memories; all commands but rename.'),
      insert_text: insertText,
      old_path: text('For rename: the present path.'),
      new_path: text('For rename: the new path.'),
    },
    required: ['command'],
  },
}

/** The first match counts. Source: Anthropic documentation, bash, text editor and memory tool, 2026-11. */
const tools: readonly (readonly [RegExp, ClientTool])[] = [
  [/^bash_\d/, bash],
  [/^text_editor_(?:20241022|20250124)$/, oldTextEditor],
  [/^text_editor_\d/, newTextEditor],
  [/^memory_\d/, memory],
]

/** Undefined for tools that the caller does not execute, or that no schema describes. */
function clientToolOf(type: string): ClientTool | undefined {
  return tools.find(([pattern]) => pattern.test(type))?.[1]
}
