import { isObject } from '../parts/is-object.ts'
import type { FunctionTool, Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { cacheControl } from './turn-parts.ts'
import type { MessagesRequest, MessagesTool } from './wire-request.ts'

type WireTools = Pick<MessagesRequest, 'tools' | 'tool_choice'>

/** The tools a model may call and which it must. Claude has no list of allowed ones: others are not shown to it. */
export function encodeTools(turn: Turn, warnings: Warning[]): WireTools {
  const tools = allowedTools(turn).map((tool) => encodeTool(tool, warnings))
  if (tools.length === 0) return {}
  const choice = encodeChoice(turn)
  return { tools, ...(choice && { tool_choice: choice }) }
}

function allowedTools({ tools, toolChoice }: Turn): readonly FunctionTool[] {
  // Other kinds are gone by now: `prepareTurn` has wrapped, refused or left them out.
  const functions = tools.filter((tool) => tool.type === 'function')
  if (toolChoice?.type !== 'allowed') return functions
  const allowed = new Set(toolChoice.tools.map(({ name }) => name))
  return functions.filter(({ name }) => allowed.has(name))
}

function encodeTool(tool: FunctionTool, warnings: Warning[]): MessagesTool {
  const { name, description, parameters, strict, cache, path } = tool
  if (strict === true) {
    const detail = 'not supported by every backend of upstream: the schema is shown to the model all the same'
    warnings.push({ code: 'dropped', field: `${path}.strict`, detail })
  }
  // `prepareTurn` has made every schema an object.
  const schema = isObject(parameters) ? parameters : { type: 'object', properties: {} }
  return { name, ...(description && { description }), input_schema: schema, ...cacheControl(cache) }
}

function encodeChoice({ toolChoice, parallelToolCalls }: Turn): WireTools['tool_choice'] {
  const one = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  switch (toolChoice?.type) {
    case undefined:
      return parallelToolCalls === false ? { type: 'auto', ...one } : undefined
    case 'auto':
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
