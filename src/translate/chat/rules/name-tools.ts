import { isObject, type JsonObject } from '../../../json/json.ts'
import { wrapCustom, wrapInput } from '../../engine/tool-codec/custom-tools.ts'
import { fieldOf } from '../../engine/origin.ts'
import { createToolNames, keepLast, type NameForm, type ToolNames } from '../../engine/tool-codec/tool-names.ts'
import type { ModelFamily } from '../../engine/model-family.ts'
import type { Warning } from '../../warning.ts'
import type { Outcome } from '../request-changes.ts'
import { decodeTool, encodeTool } from '../tools.ts'
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
  const { tools, messages, tool_choice: choice } = request
  const identities = (tools ?? []).flatMap(({ function: called, custom }) => {
    const kind = custom ? ('custom' as const) : ('function' as const)
    const name = custom?.name ?? called?.name
    return name === undefined ? [] : [{ name, kind }]
  })
  const names = createToolNames(identities, form, true)
  const warnings: Warning[] = []
  const named = (tools ?? []).map((tool, at) => nameTool(tool, names, placeOf(tool, at), warnings))
  const called = messages.map((message) => nameCalls(message, names))
  const chosen = isObject(choice) ? nameChoice(choice, names) : choice
  const areToolsSame = named.every((tool, at) => tool === tools?.[at])
  const areCallsSame = called.every((message, at) => message === messages[at])
  if (areToolsSame && areCallsSame && chosen === choice) return undefined
  return {
    patch: {
      ...(!areToolsSame && { tools: [...keepLast(named, (tool) => tool.function?.name, placeOf, warnings)] }),
      ...(!areCallsSame && { messages: called }),
      tool_choice: chosen,
    },
    warnings,
    effects: { tools: names.identities },
  }
}

function placeOf(tool: ChatTool, at: number): string {
  return fieldOf(tool, 'tools', at)
}

function nameTool(tool: ChatTool, names: ToolNames, path: string, warnings: Warning[]): ChatTool {
  const { function: called, custom: _custom, ...others } = tool
  if (called) {
    const name = upstreamName(called.name, names)
    return name === called.name ? tool : { ...tool, function: { ...called, name } }
  }
  const custom = decodeTool(tool, path)
  if (custom.type !== 'custom') return tool
  return { ...others, ...encodeTool(wrapCustom({ ...custom, name: upstreamName(custom.name, names) }, warnings)) }
}

function nameCalls(message: ChatMessage, names: ToolNames): ChatMessage {
  const { role, tool_calls: calls } = message
  if (role !== 'assistant' || !calls) return message
  const named = calls.map((call) => {
    const { custom, function: called, ...others } = call
    if (isObject(custom)) {
      const { name, input } = custom
      const wrapped = { name: upstreamName(String(name), names), arguments: wrapInput(input) }
      return { ...others, type: 'function', function: wrapped }
    }
    if (!isObject(called) || typeof called['name'] !== 'string') return call
    const name = upstreamName(called['name'], names)
    return name === called['name'] ? call : { ...call, function: { ...called, name } }
  })
  return named.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls: named }
}

type Choice = NonNullable<ChatRequest['tool_choice']> & object

function nameChoice(choice: Choice, names: ToolNames): Choice {
  const members: JsonObject = choice
  const { allowed_tools: allowed } = members
  if (!isObject(allowed) || !Array.isArray(allowed['tools'])) return nameMention(members, names) ?? choice
  const mentions: readonly unknown[] = allowed['tools']
  const tools = mentions.map((tool) => (isObject(tool) && nameMention(tool, names)) || tool)
  if (tools.every((tool, at) => tool === mentions[at])) return choice
  const renamed: JsonObject = { allowed_tools: { ...allowed, tools } }
  return { ...choice, ...renamed }
}

/** Undefined if nothing changes. */
function nameMention({ custom, function: called, ...others }: JsonObject, names: ToolNames): Choice | undefined {
  const named = isObject(custom) ? custom : called
  if (!isObject(named) || typeof named['name'] !== 'string') return undefined
  const name = upstreamName(named['name'], names)
  if (named === called && name === named['name']) return undefined
  return { ...others, type: 'function', function: { ...named, name } }
}

/** An empty name passes: nothing could repair it, and upstream's own 400 is clearer. */
function upstreamName(name: string, names: ToolNames): string {
  return name === '' ? name : names.upstreamName({ name })
}
