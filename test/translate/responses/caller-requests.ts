import { responsesBodyOf } from '../../../src/translate/responses/wire.ts'
import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { formatWarning } from '../../../src/translate/warning.ts'
import { encode, type Json, seedWith } from './fixture-streams.ts'
import type { JsonObject } from '../../../src/json/json.ts'
import { encodeContext, recall, traits } from '../turns.ts'
import type { CallerRequest, DecodedTurn } from '../../../src/translate/dialect.ts'
import { deepFreeze } from '../faults.ts'

const folder = new URL('../../fixtures/responses-requests/', import.meta.url)

/** Bodies as clients write them, by client. */
export const clientBodies: ReadonlyMap<string, string> = new Map(
  readdirSync(folder).map((name) => [name.replace('.json', ''), readFileSync(new URL(name, folder), 'utf8')]),
)

/** A request with what the test gives it. */
export function decode(body: Readonly<Record<string, unknown>>) {
  return responsesDialect.decodeRequest(JSON.stringify({ model: 'gpt-5-mini', input: 'hello', ...body }))
}

/** A stored reply, as the worked cases have it. */
export interface Stored {
  readonly input?: readonly JsonObject[]
  readonly output?: readonly JsonObject[]
}

/** The request with the reply that its `previous_response_id` names, and with the items that it refers to. */
export function joinHistory(
  request: CallerRequest,
  { input = [], output = [] }: Stored,
  referenced: ReadonlyMap<string, JsonObject> = new Map(),
): CallerRequest {
  return recall(responsesDialect, request, {
    responses: { put: () => {}, historyOf: () => [...input, ...output], items: () => referenced },
  })
}

/** The Turn of a request. Its value is frozen, so that a decoder which changes it fails the test. */
export function turnOf(request: CallerRequest): DecodedTurn {
  deepFreeze(responsesBodyOf(request).value)
  return responsesDialect.decodeTurn(request, encodeContext(traits('gpt-5-mini')))
}

export function decodeTurn(body: Readonly<Record<string, unknown>>) {
  const { turn, warnings } = turnOf(decode(body))
  return { turn, warnings: warnings.map(formatWarning) }
}

/** The body of an answer to the request, whose text is `Hi`. */
export function answerTo(request: CallerRequest): Json {
  const from = seedWith({ caller: responsesDialect.replyNotes?.(request) })
  return encode(
    [
      { type: 'text.delta', slot: 0, text: 'Hi' },
      { type: 'stop', reason: 'end' },
    ],
    from,
  ).body
}
