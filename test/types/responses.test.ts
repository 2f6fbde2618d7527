import type * as ours from '../../src/translate/responses/wire.ts'
import type { Response, ResponseError, ResponseOutputItem } from 'openai/resources/responses/responses'
import type { ErrorObject } from 'openai/resources/shared'
import { expectTypeOf, test } from 'vitest'
import type { OpenAiErrorBody } from '../../src/translate/engine/openai-error.ts'
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

test('every item is one of the SDK’s', () => {
  expectTypeOf<ours.OutputItem>().toExtend<ResponseOutputItem>()
})

test('a response is one of the SDK’s', () => {
  expectTypeOf<ours.ResponseObject>().toExtend<WireResponse>()
})

test('an error is one of the SDK’s', () => {
  expectTypeOf<OpenAiErrorBody['error']>().toExtend<ErrorObject>()
})

test('rejects values that the SDK does not define', () => {
  type Call = Extract<ours.OutputItem, { type: 'function_call' }>
  expectTypeOf<Omit<Call, 'arguments'>>().not.toExtend<ResponseOutputItem>()
  expectTypeOf<Omit<ours.ResponseObject, 'tools'>>().not.toExtend<WireResponse>()
})
