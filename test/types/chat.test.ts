import type * as ours from '../../src/translate/chat/wire.ts'
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { ErrorObject } from 'openai/resources/shared'
import { expectTypeOf, test } from 'vitest'
import type { OpenAiErrorBody } from '../../src/translate/engine/openai-error.ts'
import type { Swap } from './swap.ts'

// Checked by the compiler (`npm run check:types`): running these only shows that they are there.

/** Log probabilities go through as upstream sends them, nobody here has looked into them. */
interface AnyLogprobs {
  logprobs: { content: unknown[] | null; refusal: unknown[] | null } | null
}

/** Swapped in the choices, where they are required of a whole answer and not of a chunk. */
type Whole = Swap<ChatCompletion, { choices: Swap<ChatCompletion.Choice, AnyLogprobs>[] }>
type Chunk = Swap<ChatCompletionChunk, { choices: Swap<ChatCompletionChunk.Choice, Partial<AnyLogprobs>>[] }>

test('a completion is one of the SDK’s', () => {
  expectTypeOf<ours.ChatCompletion>().toExtend<Whole>()
})

test('a chunk is one of the SDK’s', () => {
  expectTypeOf<ours.ChatCompletionChunk>().toExtend<Chunk>()
})

test('an error is one of the SDK’s', () => {
  expectTypeOf<OpenAiErrorBody['error']>().toExtend<ErrorObject>()
})

test('rejects values that are not completions', () => {
  expectTypeOf<Omit<ours.ChatCompletion, 'created'>>().not.toExtend<Whole>()
  expectTypeOf<Swap<ours.ChatCompletionChunk, { object: 'chat.completion' }>>().not.toExtend<Chunk>()
})
