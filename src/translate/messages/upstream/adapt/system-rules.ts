import type { Warning } from '../../../warning.ts'
import {
  contentBlocks,
  effortOfTurn,
  isBlankBlock,
  wrapReminder,
  withoutBillingLine,
  hasBillingLine,
} from '../../content.ts'
import { isBlock } from '../../wire.ts'
import type { MessagesBlock, MessagesMessage, MessagesRequest, MessagesTool } from '../../wire.ts'
import { systemBlocks } from '../format-schema.ts'
import { createNotes } from './rule.ts'
import type { Rule } from './rule.ts'

/** Rules about the system text and system messages. */
export const systemRules: readonly Rule[] = [
  {
    name: 'leading system messages as system text',
    source: 'messages, system messages: they stand behind a user message',
    adapt: ({ body }) => {
      const count = body.messages.findIndex(({ role }) => role !== 'system')
      const leading = count === -1 ? body.messages : body.messages.slice(0, count)
      if (leading.length === 0) return undefined
      const blocks = leading
        .flatMap(({ content }) => contentBlocks(content))
        .flatMap(withoutBilling)
        .filter((block) => !isBlankBlock(block))
      return {
        patch: {
          ...(blocks.length > 0 && { system: [...systemBlocks(body.system ?? undefined), ...blocks] }),
          messages: body.messages.slice(leading.length),
        },
        warnings: [{ code: 'adapted', field: 'messages.0', detail: 'a leading system message is sent as system' }],
      }
    },
  },
  {
    name: 'billing line dropped',
    source: 'messages, billing line',
    // Without a warning: Claude Code sends it with every request.
    adapt: ({ body: { system } }) => {
      if (!system) return undefined
      if (typeof system === 'string') {
        const text = withoutBillingLine(system)
        return text === system ? undefined : { patch: { system: text === '' ? undefined : text }, warnings: [] }
      }
      if (!system.some(isBilling)) return undefined
      return { patch: { system: system.flatMap(withoutBilling) }, warnings: [] }
    },
  },
  {
    name: 'blank system blocks dropped',
    source: 'messages, empty text',
    adapt: ({ body: { system } }) => {
      if (system === undefined || system === null) return undefined
      if (typeof system === 'string') {
        return system.trim() === '' ? { patch: { system: undefined }, warnings: [] } : undefined
      }
      const kept = system.filter((block) => !isBlankBlock(block))
      if (kept.length === system.length && kept.length > 0) return undefined
      return { patch: { system: kept.length === 0 ? undefined : kept }, warnings: [] }
    },
  },
  {
    name: 'system messages as reminders in the user turn',
    source: 'messages, system messages',
    adapt: ({ body: { messages } }, { takesSystemMessages, traits }) => {
      const wrong = misplacedSystem(messages, takesSystemMessages)
      if (wrong.size === 0) return undefined
      const notes = createNotes()
      const out = createMessageList()
      messages.forEach((message, at) => {
        if (!wrong.has(at)) {
          out.add(message)
          return
        }
        const detail = takesSystemMessages
          ? 'a system message that does not follow the user is sent as a reminder in the user turn'
          : `system messages are not supported by ${traits.id}, sent as a reminder in the user turn`
        notes.add('adapted', `messages.${at}`, detail)
        const reminders = contentBlocks(message.content).flatMap(wrapReminder)
        if (reminders.length > 0) out.join(reminders)
      })
      return { patch: { messages: out.messages() }, warnings: notes.warnings() }
    },
  },
]

function isBilling(block: MessagesBlock): boolean {
  return block.type === 'text' && typeof block['text'] === 'string' && hasBillingLine(block['text'])
}

/** Returns no block if the billing line was all of it. */
function withoutBilling(block: MessagesBlock): readonly MessagesBlock[] {
  if (!isBilling(block)) return [block]
  const text = withoutBillingLine(String(block['text']))
  return text === '' ? [] : [{ ...block, text }]
}

/** Indexes of system messages that upstream refuses: it takes them after a user message, or nowhere. */
function misplacedSystem(messages: readonly MessagesMessage[], isTaken: boolean): ReadonlySet<number> {
  const wrong = new Set<number>()
  let followsUser = false
  for (const [at, { role }] of messages.entries()) {
    if (role !== 'system') followsUser = role === 'user'
    else if (!isTaken || !followsUser) wrong.add(at)
  }
  return wrong
}

interface MessageList {
  readonly add: (message: MessagesMessage) => void
  /** Appends to the user turn, or opens one, which the next user message joins. */
  readonly join: (blocks: readonly MessagesBlock[]) => void
  readonly messages: () => readonly MessagesMessage[]
}

function createMessageList(): MessageList {
  const done: MessagesMessage[] = []
  /** The blocks of the last message, if it was created or extended here. */
  let open: MessagesBlock[] | undefined
  return {
    add(message) {
      if (open !== undefined && message.role === 'user') {
        append(open, contentBlocks(message.content))
        return
      }
      open = undefined
      done.push(message)
    },
    join(blocks) {
      if (open === undefined) {
        const last = done.at(-1)
        open = last?.role === 'user' ? [...contentBlocks(last.content)] : []
        const message = { ...(last?.role === 'user' ? last : {}), role: 'user' as const, content: open }
        if (last?.role === 'user') done[done.length - 1] = message
        else done.push(message)
      }
      append(open, blocks)
    },
    messages: () => done,
  }
}

/** Not spread into a call: there may be more blocks than a call takes arguments. */
function append(to: MessagesBlock[], blocks: readonly MessagesBlock[]): void {
  for (const block of blocks) to.push(block)
}

/** Members of a system message that betas add. */
const SETTINGS = ['clear_at', 'output_config']

/**
 * Newer clients put settings into system messages, for the prompt cache; upstream refuses the betas. Source:
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

/** The tools at the end of the conversation. A tool that is added by name was deferred before. */
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
