import { objectOf } from '../../../json/json.ts'
import { createIdSource, startTurn } from '../../engine/tool-codec/call-ids.ts'
import { toObjectText } from '../../engine/tool-codec/tool-payload.ts'
import { counted, mapMessages, type Outcome } from '../request-changes.ts'
import type { ChatMessage } from '../wire.ts'
import type { Rule, Target, ChatDraft } from './rule.ts'

// Rules about calls. They run after `toolPairsRule`, so that each result follows its call.

type Call = NonNullable<ChatMessage['tool_calls']>[number]

function functionOf(call: Call): { readonly [key: string]: unknown } {
  return objectOf(call['function'])
}

export const callRules: readonly Rule[] = [
  {
    name: 'ids of calls that the model takes',
    source:
      'parameters, call ids: Claude takes letters, digits, _ and - and each id once, GPT 40 characters (earendil-works/pi#198); Kimi',
    adapt: ({ body: { messages } }, target) => {
      const detail = isKimi(target)
        ? 'call ids sent in the form that Kimi expects'
        : 'changed tool call ids that the provider refuses or that repeat'
      return renameCalls(messages, idsOf(target), detail)
    },
  },
  {
    name: 'arguments that are no JSON object closed or wrapped',
    source: 'parameters, call arguments: other text is 400 invalid_tool_call_format (microsoft/vscode#295549)',
    adapt: ({ body: { messages } }) =>
      mapMessages(messages, withObjectArguments, (field, changes) => [
        {
          code: 'adapted',
          field: field(),
          detail: counted('arguments that are no JSON object closed or wrapped', changes),
        },
      ]),
  },
]

/** @param name of the function, if the call has one */
type NameCall = (original: string, name: unknown) => string

/** How to name the calls of one request. `startsTurn` is called before the calls of each turn. */
interface Ids {
  readonly name: NameCall
  readonly startsTurn?: () => void
}

function idsOf(target: Target): Ids {
  const { kind } = target.family
  if (isKimi(target)) return kimiIds(target)
  if (kind === 'claude') return { name: createIdSource({ isPlain: true }) }
  // Upstream distinguishes calls of one turn by their ids only.
  const form = kind === 'gpt' || kind === 'o-series' ? { isPlain: false, longest: 40 } : { isPlain: false }
  let source = createIdSource(form)
  return {
    name: (original) => source(original),
    startsTurn: () => {
      source = createIdSource(form)
    },
  }
}

/** K2.x and later; a name without a generation may belong to an older model. */
function isKimi({ family }: Pick<Target, 'family'>): boolean {
  return family.kind === 'kimi' && family.generation !== undefined && family.generation >= 2
}

/**
 * Kimi was trained on ids that name the tool and count the calls of the conversation from 0; with other ids it writes its
 * calls into the text.
 */
function kimiIds({ family }: Target): Ids {
  // K2 prefixes each name with the namespace of its tools.
  const prefix = family.kind === 'kimi' && family.generation === 2 ? 'functions.' : ''
  let calls = 0
  return {
    name: (original, name) => {
      const id = typeof name === 'string' ? `${prefix}${name}:${calls}` : original
      calls += 1
      return id
    },
  }
}

function renameCalls(messages: readonly ChatMessage[], ids: Ids, detail: string): Outcome | undefined {
  let turn = startTurn()
  let before: string | undefined
  return mapMessages(messages, rename, (field, changes) => [
    { code: 'adapted', field: field(), detail: counted(detail, changes) },
  ])

  function rename(message: ChatMessage): ChatMessage {
    const { role, tool_calls: calls, tool_call_id: resultOf } = message
    // Claude's adjacent assistant messages are one turn.
    if (role === 'assistant' && before !== 'assistant') {
      turn = startTurn()
      ids.startsTurn?.()
    }
    before = role
    if (role === 'assistant' && calls) {
      const named = calls.map((call) => {
        const id = ids.name(call.id, functionOf(call)['name'])
        turn.call(call.id, id)
        return id === call.id ? call : { ...call, id }
      })
      return named.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls: named }
    }
    const id = role === 'tool' ? turn.result(resultOf ?? '') : undefined
    return id === undefined || id === resultOf ? message : { ...message, tool_call_id: id }
  }
}

function withObjectArguments(message: ChatMessage): ChatMessage {
  const { role, tool_calls: calls } = message
  if (role !== 'assistant' || !calls) return message
  const fitted = calls.map((call) => {
    const called = functionOf(call)
    const { arguments: text } = called
    if (typeof text !== 'string') return call
    const object = toObjectText(text)
    return object === text ? call : { ...call, function: { ...called, arguments: object } }
  })
  return fitted.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls: fitted }
}

/** Other values make Kimi repeat itself without end. */
const sampling = { temperature: 1, top_p: 0.95 } as const

export const kimiRule: Rule = {
  name: 'sampling that Kimi needs',
  source: 'parameters, Kimi',
  applies: isKimi,
  adapt: fixSampling,
}

function fixSampling({ body: request }: ChatDraft, { traits }: Target): Outcome {
  const changed = Object.entries(sampling).filter(([field, value]) => (request[field] ?? value) !== value)
  return {
    patch: sampling,
    warnings: changed.map(([field, value]) => ({
      code: 'clamped',
      field,
      detail: `${traits.id} accepts one value only; sent as ${value}`,
    })),
  }
}
