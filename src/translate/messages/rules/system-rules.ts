import type { Warning } from '../../warning.ts'
import { contentBlocks, effortOfTurn, isBlank, wrapReminder, withoutBillingLine } from '../content.ts'
import { isBlock } from '../wire.ts'
import type { MessagesBlock, MessagesMessage, MessagesRequest, MessagesTool } from '../wire.ts'
import { systemBlocks } from './format-schema.ts'
import { fieldOf } from '../../engine/origin.ts'
import { createNotes } from './rule.ts'
import type { Rule } from './rule.ts'

/** Rules about the system text and system messages. */
export const systemRules: readonly Rule[] = [
  {
    name: 'leading system messages as system text',
    source: 'messages, system messages: they follow a user message',
    adapt: ({ body: { system, messages } }) => {
      const count = messages.findIndex(({ role }) => role !== 'system')
      const leading = count === -1 ? messages : messages.slice(0, count)
      if (leading.length === 0) return undefined
      const blocks = leading.flatMap(({ content }) => keptBlocks(contentBlocks(content)))
      return {
        patch: {
          ...(blocks.length > 0 && { system: [...systemBlocks(system ?? undefined), ...blocks] }),
          messages: messages.slice(leading.length),
        },
        warnings: [{ code: 'adapted', field: 'messages.0', detail: 'leading system message sent as system text' }],
      }
    },
  },
  {
    name: 'billing line and blank system blocks dropped',
    source: 'messages, billing line; messages, empty text',
    // No warning, because Claude Code sends the line with every request.
    adapt: ({ body: { system } }) => {
      if (system === undefined || system === null) return undefined
      const kept = typeof system === 'string' ? withoutBillingLine(system) : keptBlocks(system)
      const isGone = typeof kept === 'string' ? isBlank(kept) : kept.length === 0
      const isSame = typeof kept === 'string' ? kept === system : kept.every((block, at) => block === system[at])
      if (!isGone && isSame && kept.length === system.length) return undefined
      return { patch: { system: isGone ? undefined : kept }, warnings: [] }
    },
  },
  {
    name: 'system messages as reminders in the user turn',
    source: 'messages, system messages',
    adapt: ({ body: { messages } }, { takesSystemMessages, hasRefusedSystem, traits }) => {
      const wrong = misplacedSystem(messages, takesSystemMessages)
      if (wrong.size === 0) return undefined
      const detail = takesSystemMessages
        ? 'system message sent as a reminder in the user turn, because it does not stand between a user message and an answer'
        : `${traits.id} does not support system messages; sent as a reminder in the user turn`
      const code = hasRefusedSystem ? 'refused_upstream' : 'adapted'
      const notes = createNotes()
      const out: MessagesMessage[] = []
      /** The blocks of the last message, if it is a user turn with reminders. */
      let open: MessagesBlock[] | undefined
      for (const [at, message] of messages.entries()) {
        const isWrong = wrong.has(at)
        if (isWrong) notes.add(code, fieldOf(message, 'messages', at), detail)
        else if (open === undefined || message.role !== 'user') {
          open = undefined
          out.push(message)
          continue
        }
        const blocks = contentBlocks(message.content).flatMap((block) => (isWrong ? wrapReminder(block) : block))
        if (blocks.length === 0) continue
        if (open === undefined) {
          const last = out.at(-1)?.role === 'user' ? out.pop() : undefined
          open = [...contentBlocks(last?.content)]
          out.push({ ...last, role: 'user', content: open })
        }
        // Not passed as arguments, because there may be more blocks than a call accepts arguments.
        for (const block of blocks) open.push(block)
      }
      return { patch: { messages: out }, warnings: notes.warnings() }
    },
  },
]

/** Blocks of system text, without the billing line and without blank texts. */
function keptBlocks(blocks: readonly MessagesBlock[]): readonly MessagesBlock[] {
  return blocks.flatMap((block) => {
    if (block.type !== 'text' || typeof block['text'] !== 'string') return [block]
    const text = withoutBillingLine(block['text'])
    if (isBlank(text)) return []
    return [text === block['text'] ? block : { ...block, text }]
  })
}

/**
 * Indexes of system messages that upstream refuses. Some models accept them between a user message and an answer, others
 * never. Source: Anthropic API reference, mid-conversation system messages, 2026-11.
 */
function misplacedSystem(messages: readonly MessagesMessage[], isTaken: boolean): ReadonlySet<number> {
  const wrong = new Set<number>()
  let followsUser = false
  for (const [at, { role }] of messages.entries()) {
    if (role !== 'system') followsUser = role === 'user'
    else if (!isTaken || !followsUser || nextRole(messages, at) === 'user') wrong.add(at)
  }
  return wrong
}

/** The role of the next message that is no system message. */
function nextRole(messages: readonly MessagesMessage[], at: number): string | undefined {
  let next = at
  while (messages[next]?.role === 'system') next += 1
  return messages[next]?.role
}

/** Members that betas add to a system message. */
const SETTINGS = ['clear_at', 'output_config']

/**
 * Newer clients put settings into system messages to keep the prompt cache valid. Upstream refuses these betas. Source:
 * `@anthropic-ai/sdk` 1.11.0, betas `mid-conversation-output-config-2026-07-01`,
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
        const { clear_at: _clearAt, output_config: _config, ...plain } = message
        return isEmpty(message) ? [] : [plain]
      })
      const detail = 'settings of system messages moved to the top'
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
        detail: 'tools added or removed during the conversation count as added or removed from the start',
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

/** The tools at the end of the conversation. A tool that is added by its name was deferred before. */
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
  const { defer_loading: _deferred, ...kept } = tool
  return kept
}
