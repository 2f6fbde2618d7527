import { isFilled, isObject, type JsonObject } from '../../../json/json.ts'
import { createToolNames, isOfForm, type NameForm, type ToolNames } from '../../engine/tool-names.ts'
import { wrapCustom } from '../../fit/prepare-turn.ts'
import type { ModelFamily } from '../../parts/model-family.ts'
import type { Warning } from '../../warning.ts'
import { type Outcome, withTools } from '../request-changes.ts'
import type { ChatMessage, ChatRequest } from '../wire.ts'

/** Characters in a tool's name (docs/copilot-wire.md, "Parameters by model"). */
const LONGEST_TOOL_NAME = 64

type ChatTool = NonNullable<ChatRequest['tools']>[number]

/**
 * Gives tools names that upstream takes, and offers freeform tools as functions: upstream's schema knows no others. Calls of
 * the history and `tool_choice` follow. Keeps all other members.
 */
export function nameTools(request: ChatRequest, family: ModelFamily): Outcome | undefined {
  // A bare 400 answers a Gemini's tool whose name begins otherwise (microsoft/vscode#328147).
  const form: NameForm = { longest: LONGEST_TOOL_NAME, beginsWithLetter: family.kind === 'gemini' }
  if (areTaken(request, form)) return undefined
  const converted = withTools(request)
  const warnings: Warning[] = [...(converted?.warnings ?? [])]
  const whole: ChatRequest = { ...request, ...converted?.patch }
  const identities = (whole.tools ?? []).flatMap(({ function: called, custom }) => {
    const kind = custom ? ('custom' as const) : ('function' as const)
    const name = custom?.name ?? called?.name
    return name === undefined ? [] : [{ name, kind }]
  })
  const names = createToolNames(identities, form, true)
  const named = whole.tools?.map((tool, at) => nameTool(tool, names, `tools.${at}`, warnings))
  const tools = named && withoutDuplicates(named, warnings)
  return {
    patch: {
      ...converted?.patch,
      ...(tools && { tools }),
      messages: whole.messages.map((message) => nameCalls(message, names)),
      ...(isObject(whole.tool_choice) && { tool_choice: nameChoice(whole.tool_choice, names) }),
    },
    warnings,
    effects: { tools: names.identities },
  }
}

function nameTool(tool: ChatTool, names: ToolNames, path: string, warnings: Warning[]): ChatTool {
  const { function: called, custom, ...others } = tool
  if (called) {
    const name = upstreamName(called.name, names)
    return name === called.name ? tool : { ...tool, function: { ...called, name } }
  }
  if (!custom) return tool
  const { description, format }: JsonObject = { ...custom }
  const { type, grammar, ...members } = isObject(format) ? format : {}
  const flat = { type, ...(isObject(grammar) ? grammar : members) }
  const wrapped = wrapCustom(
    {
      type: 'custom',
      name: upstreamName(custom.name, names),
      path,
      ...(isFilled(description) && { description }),
      ...(isObject(format) && { format: flat }),
    },
    warnings,
  )
  const { name, parameters } = wrapped
  const text = wrapped.description
  return {
    ...others,
    type: 'function',
    function: { name, ...(text !== undefined && { description: text }), ...(isObject(parameters) && { parameters }) },
  }
}

/** Keeps the last of several tools with one name, to which the reply restores the caller's name. */
function withoutDuplicates(tools: readonly ChatTool[], warnings: Warning[]): ChatTool[] {
  const last = new Map(tools.map((tool, at) => [tool.function?.name, at]))
  return tools.filter((tool, at) => {
    if (tool.function === undefined || last.get(tool.function.name) === at) return true
    warnings.push({
      code: 'duplicate_tool_dropped',
      field: `tools.${at}`,
      detail: 'another tool has the same name',
    })
    return false
  })
}

function nameCalls(message: ChatMessage, names: ToolNames): ChatMessage {
  const { role, tool_calls: calls } = message
  if (role !== 'assistant' || !calls) return message
  const named = calls.map((call) => {
    const { custom, function: called, ...others } = call
    if (isObject(custom)) {
      const { name, input } = custom
      const text = JSON.stringify({ input: typeof input === 'string' ? input : '' })
      return { ...others, type: 'function', function: { name: upstreamName(String(name), names), arguments: text } }
    }
    if (!isObject(called) || typeof called['name'] !== 'string') return call
    const name = upstreamName(called['name'], names)
    return name === called['name'] ? call : { ...call, function: { ...called, name } }
  })
  return named.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls: named }
}

function nameChoice(choice: NonNullable<ChatRequest['tool_choice']> & object, names: ToolNames): typeof choice {
  const members: JsonObject = choice
  const { allowed_tools: allowed } = members
  if (!isObject(allowed) || !Array.isArray(allowed['tools'])) return { ...choice, ...nameMention(members, names) }
  const tools = allowed['tools'].map((tool: unknown) => (isObject(tool) ? nameMention(tool, names) : tool))
  const renamed: JsonObject = { allowed_tools: { ...allowed, tools } }
  return { ...choice, ...renamed }
}

function nameMention(mention: JsonObject, names: ToolNames): JsonObject {
  const { custom, function: called, ...others } = mention
  const named = isObject(custom) ? custom : called
  if (!isObject(named) || typeof named['name'] !== 'string') return mention
  return { ...others, type: 'function', function: { ...named, name: upstreamName(named['name'], names) } }
}

/** An empty name passes: nothing could repair it, and upstream's own 400 is clearer. */
function upstreamName(name: string, names: ToolNames): string {
  return name === '' ? name : names.upstreamName({ name })
}

function areTaken({ tools, functions, messages }: ChatRequest, form: NameForm): boolean {
  const isTaken = (named: unknown): boolean => {
    const name = isObject(named) ? named['name'] : undefined
    return typeof name !== 'string' || name === '' || isOfForm(name, form)
  }
  const isFunction = (tool: JsonObject): boolean =>
    tool['type'] !== 'custom' && isTaken(tool['function']) && isTaken(tool['custom'])
  return (
    (tools ?? []).every(isFunction) &&
    (functions ?? []).every(isTaken) &&
    messages.every(
      ({ role, tool_calls: calls, function_call: call }) =>
        role !== 'assistant' || (isTaken(call) && (calls ?? []).every(isFunction)),
    )
  )
}
