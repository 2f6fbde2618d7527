import type { Message, MessageTokensCount, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages'
import type { ModelInfo } from '@anthropic-ai/sdk/resources/models'
import type { ErrorResponse } from '@anthropic-ai/sdk/resources/shared'
import { expectTypeOf, test } from 'vitest'
import type { renderAnthropicModel } from '../../src/models/render.ts'
import type { MessagesErrorBody } from '../../src/translate/messages/error.ts'
import type {
  ContentBlock,
  DeltaUsage,
  MessageEnd,
  MessagesEvent,
  StartUsage,
  StartedMessage,
} from '../../src/translate/messages/wire.ts'
import type { Swap } from './swap.ts'

// Checked by the compiler (`npm run check:types`): running these only shows that they are there.

/** What the events of a message amount to: its end laid over its start, and the blocks that came between. */
type Folded = Swap<
  Swap<StartedMessage, MessageEnd>,
  { content: ContentBlock[]; usage: Swap<StartUsage, { [Key in keyof DeltaUsage]: NonNullable<DeltaUsage[Key]> }> }
>

test('every event is one of the SDK’s', () => {
  expectTypeOf<MessagesEvent>().toExtend<RawMessageStreamEvent>()
})

test('a message is one of the SDK’s', () => {
  expectTypeOf<Folded>().toExtend<Message>()
})

test('a token count is one of the SDK’s', () => {
  expectTypeOf<{ input_tokens: number }>().toEqualTypeOf<MessageTokensCount>()
})

test('a model is one of the SDK’s, but for what no catalogue of Copilot’s says', () => {
  type Unknown = 'capabilities' | 'deprecated_at' | 'lifecycle' | 'line' | 'retires_at'
  expectTypeOf<ReturnType<typeof renderAnthropicModel>>().toExtend<Omit<ModelInfo, Unknown>>()
})

test('an error is one of the SDK’s', () => {
  // The class of an error goes by its status; its type is a word the SDK passes on, and its list is of some of them.
  expectTypeOf<MessagesErrorBody>().toExtend<
    Swap<ErrorResponse, { error: Swap<ErrorResponse['error'], { type: string }> }>
  >()
})

test('rejects values that are not events', () => {
  type Stop = Extract<MessagesEvent, { type: 'content_block_stop' }>
  expectTypeOf<Omit<Stop, 'index'>>().not.toExtend<RawMessageStreamEvent>()
  expectTypeOf<Omit<StartedMessage, 'usage'>>().not.toExtend<Message>()
})
