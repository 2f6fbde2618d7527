import { isObject } from '../../../../json/json.ts'
import type { ChatMessage, ChatRequest } from '../../wire.ts'
import { counted, mapMessages, type Outcome } from '../../request-changes.ts'
import type { Rule, RuleModel, Target } from './rule.ts'

/** Other values make Kimi repeat itself without end. */
const sampling = { temperature: 1, top_p: 0.95 } as const

/** K2.x and later; a name without a generation may belong to an older model. */
function isKimi({ family }: RuleModel): boolean {
  return family.kind === 'kimi' && family.generation !== undefined && family.generation >= 2
}

export const kimiRules: readonly Rule[] = [
  {
    name: 'sampling that Kimi needs',
    source: 'parameters, Kimi',
    applies: isKimi,
    adapt: fixSampling,
  },
  {
    name: 'ids of calls as Kimi counts them',
    source: 'parameters, Kimi',
    applies: isKimi,
    // K2 prefixes each name with the namespace of its tools.
    adapt: ({ messages }, { family }) =>
      renameCalls(messages, family.kind === 'kimi' && family.generation === 2 ? 'functions.' : ''),
  },
]

function fixSampling(request: ChatRequest, { traits }: Target): Outcome {
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

/**
 * Kimi was trained on ids that name the tool and count the calls of the conversation from 0; with other ids it writes its
 * calls into the text. Runs after `toolPairsRule`, so that each result follows its call.
 */
function renameCalls(messages: readonly ChatMessage[], prefix: string): Outcome | undefined {
  let calls = 0
  /** New ids of calls without a result so far, by their old id. */
  let open = new Map<string, string[]>()
  return mapMessages(messages, rename, (field, changes) => [
    { code: 'adapted', field, detail: counted('call ids sent in the form that Kimi expects', changes) },
  ])

  function rename(message: ChatMessage): ChatMessage {
    if (message.role === 'assistant' && message.tool_calls) {
      open = new Map()
      const named = message.tool_calls.map((call) => {
        const called = call['function']
        const name = isObject(called) ? called['name'] : undefined
        const id = typeof name === 'string' ? `${prefix}${name}:${calls}` : call.id
        calls += 1
        const waiting = open.get(call.id)
        if (waiting === undefined) open.set(call.id, [id])
        else waiting.push(id)
        return call.id === id ? call : { ...call, id }
      })
      const isSame = named.every((call, at) => call === message.tool_calls?.[at])
      return isSame ? message : { ...message, tool_calls: named }
    }
    const id = message.role === 'tool' ? open.get(message.tool_call_id ?? '')?.shift() : undefined
    return id === undefined || id === message.tool_call_id ? message : { ...message, tool_call_id: id }
  }
}
