import type { Warning } from '../../warning.ts'
import { effortOfTurn } from '../turn-effort.ts'
import { isBlock, type MessagesMessage, type MessagesRequest, type MessagesTool } from '../wire-request.ts'
import type { Rule } from './rule.ts'

/** Members of a system message that betas add. */
const SETTINGS = ['clear_at', 'output_config']

/**
 * What newer clients write into system messages instead of the top level, for the sake of the prompt cache. Its betas are
 * among those upstream refuses. Source: `@anthropic-ai/sdk` 1.11.0, betas `mid-conversation-output-config-2026-07-01`,
 * `mid-conversation-system-clear-at-2026-08-21` and `mid-conversation-tool-changes-2026-07-01`; docs/copilot-wire.md,
 * "messages, betas".
 */
export const settingRules: readonly Rule[] = [
  {
    name: 'settings of system messages moved to the top',
    source: 'messages, betas',
    adapt: ({ body }) => {
      const { messages } = body
      const first = messages.findIndex(holdsSetting)
      if (first === -1) return undefined
      const lastUser = messages.findLastIndex(({ role }) => role === 'user')
      const effort = effortOfTurn(messages)
      const kept = messages.flatMap((message, at) => {
        if (!holdsSetting(message)) return [message]
        if (message['clear_at'] === 'next_user_message' && at < lastUser) return []
        const { clear_at: _clearAt, output_config: _config, ...rest } = message
        return isEmpty(message) ? [] : [rest]
      })
      const detail = 'settings in system messages are sent at the top'
      return {
        patch: { messages: kept, ...(effort !== undefined && { output_config: { ...body.output_config, effort } }) },
        warnings: [{ code: 'adapted', field: `messages.${first}`, detail }],
      }
    },
  },
  {
    name: 'tool changes moved to the tools',
    source: 'messages, betas',
    adapt: ({ body }) => {
      const first = body.messages.findIndex(changesTools)
      if (first === -1) return undefined
      const messages = body.messages.flatMap((message) => {
        if (!changesTools(message) || typeof message.content !== 'object') return [message]
        const content = message.content?.filter((block) => !isToolChange(block.type)) ?? []
        return content.length === 0 ? [] : [{ ...message, content }]
      })
      const warning: Warning = {
        code: 'adapted',
        field: `messages.${first}`,
        detail: 'tools that are added or withdrawn on the way are so from the start',
      }
      return { patch: { messages, tools: toolsInForce(body) }, warnings: [warning] }
    },
  },
]

function holdsSetting(message: MessagesMessage): boolean {
  return message.role === 'system' && (SETTINGS.some((key) => message[key] !== undefined) || isEmpty(message))
}

function isEmpty({ content }: MessagesMessage): boolean {
  return content === undefined || content === null || content.length === 0
}

function changesTools({ role, content }: MessagesMessage): boolean {
  return role === 'system' && typeof content === 'object' && content?.some(({ type }) => isToolChange(type)) === true
}

function isToolChange(type: string): boolean {
  return type === 'tool_addition' || type === 'tool_removal'
}

/** Those at the end of the conversation. A tool that is added by name was deferred until then. */
function toolsInForce({ tools, messages }: MessagesRequest): readonly MessagesTool[] {
  const offered = new Map<string, MessagesTool>()
  for (const [at, tool] of (tools ?? []).entries()) offered.set(tool.name ?? `${at} without a name`, tool)
  for (const { role, content } of messages) {
    if (role !== 'system' || typeof content !== 'object') continue
    for (const block of content ?? []) {
      if (!isBlock(block, 'tool_addition') && !isBlock(block, 'tool_removal')) continue
      const { definition } = block.tool
      const name = definition?.name ?? block.tool.name ?? ''
      const tool = definition ?? offered.get(name)
      if (isBlock(block, 'tool_removal')) offered.delete(name)
      else if (tool) offered.set(name, atOnce(tool))
    }
  }
  return [...offered.values()]
}

function atOnce(tool: MessagesTool): MessagesTool {
  const { defer_loading: _deferred, ...rest } = tool
  return rest
}
