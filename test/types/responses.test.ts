import type { Response, ResponseError, ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { ErrorObject } from 'openai/resources/shared'
import { expectTypeOf, test } from 'vitest'
import type { ResponsesErrorBody } from '../../src/translate/responses/error.ts'
import type * as ours from '../../src/translate/responses/wire-event.ts'
import type { Swap } from './swap.ts'

// Checked by the compiler (`npm run check:types`): running these only shows that they are there.

/**
 * The response object on the wire. `output_text` is made by the package and not sent. The package lists OpenAI's own
 * codes of a failure; Codex CLI acts on some that are not among them (`server_is_overloaded`). OpenAI's servers and
 * Open Responses (2026-04-24) say `usage: null` until there is one; the package leaves that out.
 */
type WireResponse = Swap<
  Omit<Response, 'output_text'>,
  { error: Swap<ResponseError, { code: string }> | null; usage?: Response['usage'] | null }
>

/** Of each event by itself, which `Swap` on the whole union would not do. */
type OnTheWire<Event> = Event extends { response: Response } ? Swap<Event, { response: WireResponse }> : Event

test('every event is one of the SDK’s', () => {
  expectTypeOf<ours.ResponseEvent>().toExtend<OnTheWire<ResponseStreamEvent>>()
})

test('a response is one of the SDK’s', () => {
  expectTypeOf<ours.ResponseObject>().toExtend<WireResponse>()
})

test('an error is one of the SDK’s', () => {
  expectTypeOf<ResponsesErrorBody['error']>().toExtend<ErrorObject>()
})

test('what is not an event is told apart', () => {
  type Delta = Extract<ours.ResponseEvent, { type: 'response.output_text.delta' }>
  expectTypeOf<Omit<Delta, 'sequence_number'>>().not.toExtend<OnTheWire<ResponseStreamEvent>>()
  expectTypeOf<Omit<ours.ResponseObject, 'tools'>>().not.toExtend<WireResponse>()
})
