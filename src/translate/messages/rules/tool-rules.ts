import { createToolFitter } from '../../engine/tool-codec/fit-tools.ts'
import { keepLast } from '../../engine/tool-codec/tool-names.ts'
import { fieldOf } from '../../engine/origin.ts'
import { keepPlaces } from '../../engine/places.ts'
import { modelFamily } from '../../engine/model-family.ts'
import { refuseValue } from '../../engine/request/invalid.ts'
import { isObject, parseObject } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { mapBlocks, mapSame } from '../content.ts'
import { isBlock, type Block, type MessagesBlock, type MessagesRequest, type MessagesTool } from '../wire.ts'
import { systemBlocks } from './format-schema.ts'
import { hasBeta, type Draft, type Rule } from './rule.ts'
import type { Target } from './target.ts'

/** Tools that Anthropic runs, by the prefix of their type. A version follows the prefix. */
const SERVER_TOOLS = ['web_search_', 'web_fetch_', 'code_execution_', 'advisor_', 'mcp_toolset']

function isServerTool({ type }: MessagesTool): boolean {
  return SERVER_TOOLS.some((prefix) => type?.startsWith(prefix) === true)
}

/** The caller runs the tool and states its schema. */
export function isCallerTool({ type }: MessagesTool): boolean {
  return type === undefined || type === null || type === 'custom'
}

interface ToolRow {
  readonly name: string
  readonly source: string
  /** Returns the same tool if there is nothing to change, `undefined` to leave it out. */
  readonly adapt: (tool: MessagesTool, draft: Draft, target: Target) => MessagesTool | undefined
  /** Path of the first changed tool, for the warning. */
  readonly code: Warning['code']
  readonly detail: string
  /** Warns about each changed tool. */
  readonly perTool?: boolean
}

const rows: readonly ToolRow[] = [
  {
    name: 'server tools dropped',
    source: 'messages, server tools',
    adapt: (tool) => (isServerTool(tool) ? undefined : tool),
    code: 'dropped',
    detail: 'the provider does not have this server tool',
    perTool: true,
  },
  {
    name: 'tools of refused types dropped',
    source: 'messages, tool types',
    adapt: (tool, _draft, { refusedTools }) => (refusedTools.has(tool.type ?? 'custom') ? undefined : tool),
    code: 'refused_upstream',
    detail: 'the provider has refused tools of this type',
    perTool: true,
  },
  {
    name: 'tool search tools without the beta dropped',
    source: 'messages, tool search',
    adapt: (tool, draft) =>
      tool.type?.startsWith('tool_search_tool_') === true && !hasBeta(draft, 'advanced-tool-use') ? undefined : tool,
    code: 'dropped',
    detail: 'tool search is not available',
  },
  {
    name: 'deferred placeholders without the beta dropped',
    source: 'messages, tool search',
    adapt: (tool, draft) =>
      tool.defer_loading === true && isPlaceholder(tool) && !hasBeta(draft, 'advanced-tool-use') ? undefined : tool,
    code: 'adapted',
    detail: 'placeholders need tool search',
  },
  {
    name: 'defer_loading without the beta dropped',
    source: 'messages, tool search',
    adapt: (tool, draft) =>
      hasBeta(draft, 'advanced-tool-use') ? tool : withoutKeys(tool, (key) => key === 'defer_loading'),
    code: 'adapted',
    detail: 'tool search is not available; deferred tools are offered from the start',
  },
  {
    name: 'defer_loading of tools that upstream does not find dropped',
    source: 'messages, tool search',
    adapt: (tool, _draft, { toolsAtOnce }) =>
      toolsAtOnce.has(tool.name ?? '') ? withoutKeys(tool, (key) => key === 'defer_loading') : tool,
    code: 'refused_upstream',
    detail: 'the provider does not find the tool when it is deferred; it is offered from the start',
  },
  {
    name: 'strict tools without structured outputs',
    source: 'messages, structured outputs',
    adapt: (tool, _draft, { takesFormat }) =>
      takesFormat ? tool : withoutKeys(tool, (key, value) => key === 'strict' && value === true),
    code: 'adapted',
    detail: 'the provider does not enforce the schema for this request',
  },
  {
    name: 'hints on tools dropped',
    source: 'messages, unknown fields: eager_input_streaming',
    adapt: (tool) =>
      withoutKeys(
        tool,
        (key, value) =>
          key === 'eager_input_streaming' ||
          (key === 'allowed_callers' && Array.isArray(value) && value.every((caller) => caller === 'direct')),
      ),
    code: 'adapted',
    detail: 'eager_input_streaming and allowed_callers are not supported by Copilot',
  },
  {
    name: 'input_examples and allowed_callers dropped',
    source: 'messages, unknown fields',
    adapt: (tool) => withoutKeys(tool, (key) => key === 'input_examples' || key === 'allowed_callers'),
    code: 'dropped',
    detail: 'input_examples and allowed_callers are not supported by Copilot',
  },
]

export const toolRules: readonly Rule[] = [
  ...rows.map(toRule),
  {
    name: 'tool schemas fitted to the model',
    source: 'tool schemas',
    adapt: ({ body: { tools, messages } }, { traits }) => {
      if (!tools) return undefined
      const { kind } = modelFamily(traits)
      const fitter = createToolFitter({ gemini: kind === 'gemini', claude: kind === 'claude', messages: true })
      const fitted = tools.map((tool, at) => {
        if (!isCallerTool(tool)) return tool
        const schema = fitter.fit(tool.input_schema, fieldOf(tool, 'tools', at, '.input_schema'))
        return schema === tool.input_schema ? tool : { ...tool, input_schema: schema }
      })
      if (fitted.every((tool, at) => tool === tools[at])) return undefined
      const effects = fitter.effects()
      const fitCall = (block: MessagesBlock): MessagesBlock =>
        isBlock(block, 'tool_use') ? fitInput(block, fitter.fitArguments) : block
      return {
        patch: {
          tools: fitted,
          ...(effects && { messages: mapSame(messages, (message) => mapBlocks(message, fitCall)) }),
        },
        warnings: fitter.warnings(),
        ...(effects && { effects }),
      }
    },
  },
  {
    name: 'duplicate tools dropped',
    source: 'Anthropic API reference, tools, 2026-11: names must be unique',
    adapt: ({ body: { tools } }) => {
      if (!tools) return undefined
      const warnings: Warning[] = []
      const kept = keepLast(
        tools,
        ({ name }) => name ?? undefined,
        (tool, at) => fieldOf(tool, 'tools', at),
        warnings,
      )
      return warnings.length === 0 ? undefined : { patch: { tools: [...kept] }, warnings }
    },
  },
  {
    name: 'empty tools dropped',
    source: 'Anthropic API reference, tools, 2026-11',
    adapt: ({ body: { tools } }) => (tools?.length === 0 ? { patch: { tools: undefined }, warnings: [] } : undefined),
  },
  {
    name: 'a forced tool requested in the system text',
    source: 'messages, forced tools',
    adapt: ({ body: { tools, tool_choice: choice, system } }, { takesForcedChoice }) => {
      if (takesForcedChoice || !tools || (choice?.type !== 'any' && choice?.type !== 'tool')) return undefined
      const { type, name, ...others } = choice
      const wanted = type === 'tool' ? `the tool ${String(name)}` : 'one of the tools'
      return {
        patch: {
          tool_choice: { ...others, type: 'auto' },
          system: [...systemBlocks(system ?? undefined), { type: 'text', text: `Answer with a call of ${wanted}.` }],
        },
        warnings: [
          {
            code: 'clamped',
            field: 'tool_choice',
            detail: 'the model takes no forced tool; requested in the system text',
          },
        ],
      }
    },
  },
  {
    name: 'tool_choice without tools dropped',
    source: 'Anthropic API reference, tool_choice, 2026-11: it may only be given with tools',
    adapt: ({ body: { tools, tool_choice: choice } }) => {
      if (tools || choice === undefined) return undefined
      if (choice?.type === 'any' || choice?.type === 'tool') {
        refuseValue('tool_choice', 'it requires a tool, but the provider accepts none of the tools', 'unsupported_tool')
      }
      return { patch: { tool_choice: undefined }, warnings: [] }
    },
  },
]

function fitInput(block: Block<'tool_use'>, fit: (text: string) => string): MessagesBlock {
  const text = JSON.stringify(block.input)
  const fitted = fit(text)
  return fitted === text ? block : { ...block, input: parseObject(fitted) ?? block.input }
}

function toRule({ name, source, adapt, code, detail, perTool }: ToolRow): Rule {
  return {
    name,
    source,
    adapt: (draft, target) => {
      const { tools, tool_choice: choice } = draft.body
      if (!tools) return undefined
      const changed: number[] = []
      const adapted = tools.map((tool, at) => {
        const fitted = adapt(tool, draft, target)
        if (fitted === undefined) refuseIfForced(tool, choice, at)
        if (fitted !== tool) changed.push(at)
        return fitted
      })
      if (changed.length === 0) return undefined
      const { kept, places } = keepPlaces(adapted)
      const told = changed.slice(0, perTool === true ? undefined : 1)
      return {
        patch: { tools: kept },
        places: { tools: places },
        warnings: told.map((at) => ({ code, field: fieldOf(tools[at], 'tools', at), detail })),
      }
    },
  }
}

/** Refuses a request that demands a tool that is left out. */
function refuseIfForced({ name }: MessagesTool, choice: MessagesRequest['tool_choice'], at: number): void {
  if (choice?.type !== 'tool' || choice.name !== name) return
  refuseValue(
    `tools[${at}]`,
    'tool_choice requires this tool, which is not available for this model',
    'unsupported_tool',
  )
}

function withoutKeys(tool: MessagesTool, isDropped: (key: string, value: unknown) => boolean): MessagesTool {
  const entries = Object.entries(tool)
  const kept = entries.filter(([key, value]) => !isDropped(key, value))
  return kept.length === entries.length ? tool : Object.fromEntries(kept)
}

/** A tool without a schema announces tools that a tool search returns later. */
function isPlaceholder({ input_schema: schema }: MessagesTool): boolean {
  return !isObject(schema) || Object.keys(schema).length === 0
}
