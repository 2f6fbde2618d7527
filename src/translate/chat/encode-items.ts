import type { ModelFamily } from '../parts/model-family.ts'
import type { CacheMark, MessageItem, ReasoningItem, ToolCallItem, ToolResultItem, TurnItem } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { encodeParts } from './encode-parts.ts'
import { encodeAttachments, encodeResult } from './encode-results.ts'
import { fitsChat } from './reasoning-fit.ts'
import type { ChatMessage } from './wire-request.ts'

export interface EncodedItem {
  readonly message: ChatMessage
  /** The item the message begins with, as warnings name it. */
  readonly path: string
  readonly cache: CacheMark | undefined
}

export interface EncodedItems {
  readonly messages: readonly EncodedItem[]
  readonly warnings: readonly Warning[]
}

/**
 * Items to messages, in order. What an assistant says, thinks and calls in a row is one message: chat has a place for
 * one text, one pair of reasoning and a list of calls, so that text behind a call loses its position.
 * @throws Fault `invalid_request` as `encodePart`
 */
export function encodeItems(items: readonly TurnItem[], family: ModelFamily): EncodedItems {
  const messages: EncodedItem[] = []
  const warnings: Warning[] = []
  let run: AssistantItem[] = []
  let results: ToolResultItem[] = []

  const endRun = () => {
    if (run.length > 0) encodeRun(run, family, messages, warnings)
    run = []
  }
  const endResults = () => {
    const [first] = results
    if (first === undefined) return
    const message = encodeAttachments(results)
    if (message !== undefined) messages.push({ message, path: first.path, cache: undefined })
    results = []
  }

  for (const item of items) {
    if (item.type !== 'tool_result') endResults()
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') {
          run.push(item)
          break
        }
        endRun()
        messages.push({ message: encodeMessage(item), path: item.path, cache: markOf(item) })
        break
      case 'reasoning':
      case 'tool_call':
        run.push(item)
        break
      case 'tool_result':
        endRun()
        results.push(item)
        messages.push({ message: encodeResult(item), path: item.path, cache: item.cache })
        break
      case 'web_search':
        warnings.push({
          code: 'dropped',
          field: item.path,
          detail: 'a search of another upstream cannot be handed back',
        })
        break
      case 'compaction':
        endRun()
        warnings.push({ code: 'compaction_dropped', field: item.path, detail: 'only its text was kept' })
        if (item.text !== '') {
          messages.push({ message: { role: 'user', content: item.text }, path: item.path, cache: undefined })
        }
        break
    }
  }
  endRun()
  endResults()
  return { messages, warnings }
}

/** What an assistant does; of messages only its own. */
type AssistantItem = MessageItem | ReasoningItem | ToolCallItem

/** System text is one string, which every backend takes; a user's parts stay apart. */
function encodeMessage({ role, parts, path }: MessageItem): ChatMessage {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : undefined))
  const isText = role === 'system' && !texts.includes(undefined)
  return { role, content: isText ? texts.join('\n\n') : encodeParts(parts, path) }
}

function encodeRun(
  run: readonly AssistantItem[],
  family: ModelFamily,
  messages: EncodedItem[],
  warnings: Warning[],
): void {
  const texts = run.filter((item) => item.type === 'message').map((item) => textOf(item, warnings))
  const text = texts.filter((each) => each !== '').join('\n\n')
  const calls = run.filter((item) => item.type === 'tool_call')
  const reasoning = encodeReasoning(run, family, text !== '' || calls.length > 0, warnings)
  if (text === '' && calls.length === 0) return
  messages.push({
    message: {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) }),
      ...reasoning,
    },
    path: run[0]?.path ?? '',
    cache: run.map(markOf).findLast((mark) => mark !== undefined),
  })
}

function textOf({ parts, path }: MessageItem, warnings: Warning[]): string {
  return parts
    .map((part) => {
      if (part.type === 'text' || part.type === 'refusal') return part.text
      warnings.push({ code: 'dropped', field: path, detail: `an assistant message cannot hold ${part.type} content` })
      return ''
    })
    .join('')
}

function encodeCall({ id, name, arguments: text }: ToolCallItem) {
  return { id, type: 'function', function: { name, arguments: text.trim() === '' ? '{}' : text } }
}

/**
 * The one pair a message can have: the last that goes with a call, because calls are what a model needs its thoughts
 * for (docs/copilot-wire.md, quirk 12). An opaque value that came after the text it belongs to stands in an item of its
 * own, and gets the text back.
 */
function encodeReasoning(
  run: readonly AssistantItem[],
  family: ModelFamily,
  hasPlace: boolean,
  warnings: Warning[],
): Partial<ChatMessage> {
  const fits = (item: AssistantItem): item is ReasoningItem =>
    item.type === 'reasoning' && item.opaque !== undefined && fitsChat(item.opaque, family)
  const lastCall = run.findLastIndex((item) => item.type === 'tool_call')
  const chosen = hasPlace ? (run.slice(0, lastCall + 1).findLast(fits) ?? run.findLast(fits)) : undefined
  for (const item of run) {
    if (item.type !== 'reasoning' || item.opaque === undefined || item === chosen) continue
    const detail = fits(item) ? 'a message has room for one thought' : 'reasoning of another upstream dropped'
    warnings.push({ code: 'thinking_dropped', field: item.path, detail })
  }
  if (chosen?.opaque === undefined) return {}
  const unsigned = run.flatMap((item) => (item.type === 'reasoning' && item.opaque === undefined ? [item.text] : []))
  const text = chosen.text === '' ? unsigned.join('') : chosen.text
  return { ...(text !== '' && { reasoning_text: text }), reasoning_opaque: chosen.opaque.value }
}

function markOf(item: AssistantItem): CacheMark | undefined {
  switch (item.type) {
    case 'message':
      return item.parts.map((part) => ('cache' in part ? part.cache : undefined)).findLast((mark) => mark !== undefined)
    case 'tool_call':
      return item.cache
    case 'reasoning':
      return undefined
  }
}
