import { countOf, isFilled, isObject, objectsOf, objectOf } from '../../json/json.ts'
import {
  type ChatCompletion,
  type ChatToolCall,
  type ChatUsage,
  type FinishReason,
  isFinishReason,
  type WireChoice,
  type WireChunk,
  type WireDelta,
  type WireToolCall,
} from './wire.ts'
import { type FoldSize, grow, lengthOf, lengthOfLists, startFoldSize } from '../engine/reply/fold-size.ts'
import { appendAll, isBlank, kindOf, mergeValue } from './extras.ts'

/** The chunks so far, folded. Updated in place: a copy per chunk would be quadratic. */
export interface ChatAnswer {
  id: string
  created: number
  model: string
  /** null until upstream sends text, '' included. */
  content: string | null
  refusal: string
  readonly toolCalls: ToolCallDraft[]
  functionCall: { name: string; arguments: string } | undefined
  readonly logprobs: { content: unknown[] | null; refusal: unknown[] | null }
  finishReason: FinishReason
  usage: Readonly<Record<string, unknown>> | undefined
  /** Unknown keys of chunks, choices and deltas. Maps, because JSON may have the key `__proto__`. */
  readonly bodyExtras: Map<string, unknown>
  readonly choiceExtras: Map<string, unknown>
  readonly messageExtras: Map<string, unknown>
  readonly size: FoldSize
}

interface ToolCallDraft {
  kind: 'function' | 'custom'
  id: string
  name: string
  text: string
  readonly extras: Map<string, unknown>
}

export function startAnswer(): ChatAnswer {
  return {
    id: '',
    created: 0,
    model: '',
    content: null,
    refusal: '',
    toolCalls: [],
    functionCall: undefined,
    logprobs: { content: null, refusal: null },
    finishReason: 'stop',
    usage: undefined,
    bodyExtras: new Map(),
    choiceExtras: new Map(),
    messageExtras: new Map(),
    size: startFoldSize(),
  }
}

/**
 * Adds one normalised chunk.
 * @throws Fault `upstream_unusable` for an answer that is too long for one body
 */
export function foldChunk(answer: ChatAnswer, chunk: WireChunk): ChatAnswer {
  if (isFilled(chunk.id)) answer.id = chunk.id
  if (typeof chunk.created === 'number') answer.created = chunk.created
  if (isFilled(chunk.model)) answer.model = chunk.model
  if (isObject(chunk.usage)) answer.usage = chunk.usage
  for (const key in chunk) {
    if (kindOf(key) !== 'envelope') addExtra(answer.bodyExtras, key, chunk[key], answer.size)
  }
  for (const choice of objectsOf(chunk.choices)) foldChoice(answer, choice)
  return answer
}

export function toCompletion(answer: ChatAnswer): ChatCompletion {
  const { id, created, model, refusal, toolCalls, functionCall, logprobs, usage } = answer
  const hasOther = toolCalls.length > 0 || refusal !== '' || functionCall !== undefined
  const hasLogprobs = logprobs.content !== null || logprobs.refusal !== null
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          // Upstream begins calls and refusals with an empty text, which is no text of the answer.
          content: hasOther && answer.content === '' ? null : answer.content,
          refusal: refusal === '' ? null : refusal,
          ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toToolCall) }),
          ...(functionCall && { function_call: functionCall }),
          ...Object.fromEntries(answer.messageExtras),
        },
        logprobs: hasLogprobs ? logprobs : null,
        finish_reason: answer.finishReason,
        ...Object.fromEntries(answer.choiceExtras),
      },
    ],
    ...(usage && { usage: toUsage(usage) }),
    ...Object.fromEntries(answer.bodyExtras),
  }
}

function foldChoice(answer: ChatAnswer, choice: WireChoice): void {
  for (const key in choice) {
    const value = choice[key]
    switch (key) {
      case 'index':
      // Some backends repeat the delta as a message.
      case 'message':
        break
      case 'delta':
        if (isObject(value)) foldDelta(answer, value)
        break
      case 'finish_reason':
        if (isFinishReason(value)) answer.finishReason = value
        break
      case 'logprobs':
        if (isObject(value)) foldLogprobs(answer, value)
        break
      default:
        addExtra(answer.choiceExtras, key, value, answer.size)
    }
  }
}

function foldDelta(answer: ChatAnswer, delta: WireDelta): void {
  for (const key in delta) {
    const value = delta[key]
    switch (key) {
      case 'role':
        break
      case 'content':
        foldContent(answer, value)
        break
      case 'refusal':
        if (typeof value !== 'string') break
        grow(answer.size, value.length)
        answer.refusal += value
        break
      case 'tool_calls':
        for (const entry of objectsOf(value)) foldToolCall(answer, entry)
        break
      case 'function_call':
        if (isObject(value)) foldFunctionCall(answer, value)
        break
      default:
        addExtra(answer.messageExtras, key, value, answer.size)
    }
  }
}

/** Nearly always text. With images or other parts, the content becomes a list of parts. */
function foldContent(answer: ChatAnswer, value: unknown): void {
  const parts = answer.messageExtras.get('content')
  if (typeof value === 'string') {
    grow(answer.size, value.length)
    if (!Array.isArray(parts)) answer.content = (answer.content ?? '') + value
    else if (value !== '') appendText(parts, value)
    return
  }
  if (value === undefined || value === null) return
  grow(answer.size, lengthOf(value))
  if (Array.isArray(parts)) return void appendAll(parts, asParts(value))
  const before = isFilled(answer.content) ? [textPart(answer.content)] : []
  // Extras override the members of the message.
  answer.messageExtras.set('content', appendAll(before, asParts(value)))
}

function textPart(text: string) {
  return { type: 'text', text }
}

/** Consecutive pieces of text form one part. */
function appendText(parts: unknown[], text: string): void {
  const last: unknown = parts.at(-1)
  const isOurs = isObject(last) && last['type'] === 'text' && Object.keys(last).length === 2
  if (isOurs && typeof last['text'] === 'string') last['text'] += text
  else parts.push(textPart(text))
}

function asParts(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function foldToolCall(
  { toolCalls: calls, size }: ChatAnswer,
  { index, id, type, function: fn, custom, ...extras }: WireToolCall,
): void {
  if (typeof index !== 'number') return
  if (calls[index] === undefined) grow(size, 100)
  const call = (calls[index] ??= { kind: 'function', id: '', name: '', text: '', extras: new Map() })
  if (isFilled(id)) call.id = id
  if (type === 'custom') call.kind = 'custom'
  const body = isObject(custom) ? custom : objectOf(fn)
  if (isFilled(body['name'])) call.name = body['name']
  const piece = body['arguments'] ?? body['input']
  if (isFilled(piece)) {
    grow(size, piece.length)
    call.text += piece
  }
  for (const key in extras) addExtra(call.extras, key, extras[key], size)
}

/** Deprecated, but some models still take `functions`. */
function foldFunctionCall(answer: ChatAnswer, { name, arguments: piece }: Record<string, unknown>): void {
  const call = (answer.functionCall ??= { name: '', arguments: '' })
  if (isFilled(name)) call.name = name
  if (!isFilled(piece)) return
  grow(answer.size, piece.length)
  call.arguments += piece
}

function foldLogprobs({ logprobs, size }: ChatAnswer, { content, refusal }: Record<string, unknown>): void {
  grow(size, lengthOfLists([content, refusal]))
  if (Array.isArray(content)) logprobs.content = appendAll(logprobs.content ?? [], content)
  if (Array.isArray(refusal)) logprobs.refusal = appendAll(logprobs.refusal ?? [], refusal)
}

function addExtra(extras: Map<string, unknown>, key: string, value: unknown, size: FoldSize): void {
  if (isBlank(value)) return
  const kind = kindOf(key)
  if (kind === 'padding') return
  const before = extras.get(key)
  const isText = kind === 'text' && typeof before === 'string' && typeof value === 'string'
  grow(size, isText ? value.length : lengthOfLists(value))
  extras.set(key, isText ? before + value : mergeValue(before, value))
}

function toToolCall({ kind, id, name, text, extras }: ToolCallDraft): ChatToolCall {
  const others = Object.fromEntries(extras)
  return kind === 'custom'
    ? { id, type: 'custom', custom: { name, input: text }, ...others }
    : { id, type: 'function', function: { name, arguments: text }, ...others }
}

/** Upstream's counts, with the three that every client reads. */
function toUsage(usage: Readonly<Record<string, unknown>>): ChatUsage {
  const prompt = countOf(usage['prompt_tokens'])
  const completion = countOf(usage['completion_tokens'])
  const total = typeof usage['total_tokens'] === 'number' ? usage['total_tokens'] : prompt + completion
  return { ...usage, prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
}
