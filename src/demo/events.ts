import type { Model } from '../models/model.ts'
import { makerOf } from '../translate/engine/opaque-envelope.ts'
import type { UpstreamDialectId } from '../translate/dialect.ts'
import type { Opaque, TurnEvent, Usage } from '../translate/turn.ts'
import { piecesOf } from './answer.ts'
import type { Answer } from './answer.ts'

interface EventSource {
  readonly model: Model
  readonly dialect: UpstreamDialectId
  /** Distinguishes the answer from every other. */
  readonly id: string
  readonly usage: Usage
}

const forms = {
  chat: 'reasoning_opaque',
  responses: 'encrypted_content',
  messages: 'signature',
} as const satisfies Record<UpstreamDialectId, Opaque['form']>

/** The answer as events of the neutral model. */
export function* eventsOf(answer: Answer, { model, dialect, id, usage }: EventSource): Generator<TurnEvent> {
  let slot = 0
  yield { type: 'start', model: model.id }
  if (answer.thought !== '') {
    for (const text of piecesOf(answer.thought)) yield { type: 'think.delta', slot, text }
    yield {
      type: 'think.sign',
      slot,
      opaque: { ...makerOf(model), form: forms[dialect], value: Buffer.from(`demo-${id}`).toString('base64') },
    }
    yield { type: 'part.close', slot }
    slot += 1
  }
  if (answer.search !== '') {
    yield { type: 'search', slot, id: `ws_demo_${id}`, query: answer.search }
    yield { type: 'part.close', slot }
    slot += 1
  }
  // An answer of calls only has no text.
  if (answer.text !== '' || answer.calls.length === 0) {
    const type = answer.isRefusal && dialect !== 'messages' ? 'refusal.delta' : 'text.delta'
    for (const text of piecesOf(answer.text)) yield { type, slot, text }
    if (answer.search !== '') yield* citationsOf(answer.text, slot)
    yield { type: 'part.close', slot }
    slot += 1
  }
  for (const [at, { tool, arguments: text }] of answer.calls.entries()) {
    const { type: kind, name, namespace } = tool
    yield { type: 'tool.open', slot, id: `call_demo_${id}_${at}`, name, namespace, kind }
    for (const piece of text.match(/[\s\S]{1,12}/gu) ?? []) yield { type: 'tool.args', slot, text: piece }
    yield { type: 'part.close', slot }
    slot += 1
  }
  yield { type: 'usage', usage }
  yield {
    type: 'stop',
    reason: answer.end,
    ...(answer.stopText !== '' && { stopSequence: answer.stopText }),
    ...(answer.end === 'content_filter' && { detail: { explanation: 'Simulated content filter.' } }),
  }
}

/** Citations of the links in the text; of its beginning if it has no links. */
function* citationsOf(text: string, slot: number): Generator<TurnEvent> {
  const links = [...text.matchAll(/\(\[([^\]]*)\]\(([^)]*)\)\)/g)].map((match) => {
    const [link, title = '', url = ''] = match
    return { title, url, start: match.index, end: match.index + link.length }
  })
  const start = {
    title: 'Simulated result',
    url: 'https://example.com/simulated',
    start: 0,
    end: Math.min(9, text.length),
  }
  for (const citation of links.length > 0 ? links : [start]) yield { type: 'citation', slot, citation }
}
