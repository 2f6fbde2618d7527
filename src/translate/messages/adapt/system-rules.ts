import { hasBillingLine, withoutBillingLine } from '../billing-line.ts'
import { systemBlocks } from '../json-hint.ts'
import { contentBlocks, isBlankBlock, wrapReminder } from '../reminder.ts'
import type { MessagesBlock, MessagesMessage } from '../wire-request.ts'
import { createNotes } from './notes.ts'
import type { Rule } from './rule.ts'

/** Of the system text, and of messages in the role of the system. */
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
    // Without a warning: it is for Anthropic's accounting, and Claude Code sends it with every request.
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

/** The block without its billing line; nothing where it held nothing else. */
function withoutBilling(block: MessagesBlock): readonly MessagesBlock[] {
  if (!isBilling(block)) return [block]
  const text = withoutBillingLine(String(block['text']))
  return text === '' ? [] : [{ ...block, text }]
}

/** Places of system messages that upstream would refuse: it takes them behind a user message, with only others between, or nowhere. */
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
  /** To the user turn that is open, or one of its own; the user message that follows belongs to that. */
  readonly join: (blocks: readonly MessagesBlock[]) => void
  readonly messages: () => readonly MessagesMessage[]
}

function createMessageList(): MessageList {
  const done: MessagesMessage[] = []
  /** The blocks of the last message where it was made or extended here. */
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
