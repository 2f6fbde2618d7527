import { describe, expect, test } from 'vitest'
import { deferThoughts, startThoughtDeferral } from '../../../src/translate/messages/defer-thoughts.ts'
import type { Opaque, TurnEvent } from '../../../src/translate/turn.ts'

const opaque: Opaque = { vendor: 'openai', family: 'gpt-5', form: 'encrypted_content', value: 'ENC' }
const sign: TurnEvent = { type: 'think.sign', slot: 0, opaque }
const closeThought: TurnEvent = { type: 'part.close', slot: 0 }
const text: TurnEvent = { type: 'text.delta', slot: 1, text: 'Hi' }
const closeText: TurnEvent = { type: 'part.close', slot: 1 }
const call: TurnEvent = { type: 'tool.open', slot: 2, id: 'c', name: 'f', kind: 'function' }
const stop: TurnEvent = { type: 'stop', reason: 'end' }

function run(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const deferral = startThoughtDeferral()
  return events.flatMap((event) => deferThoughts(deferral, event))
}

describe('thoughts nobody asked for', () => {
  test('without words never come in a plain answer', () => {
    expect(run([sign, closeThought, text, closeText, stop])).toEqual([text, closeText, stop])
  })

  test('without words come right before the first call', () => {
    expect(run([sign, closeThought, text, closeText, call])).toEqual([text, closeText, sign, closeThought, call])
  })

  test('with words are shown as they come', () => {
    const words: TurnEvent = { type: 'think.delta', slot: 0, text: 'Hm' }
    const events = [words, sign, closeThought, text, closeText, stop]
    expect(run(events)).toEqual(events)
  })
})
