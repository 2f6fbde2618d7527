import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import type { ReplyNotes } from '../../../../src/translate/dialect.ts'
import { createRestorer } from '../../../../src/translate/engine/reply/restore-events.ts'
import type { TurnEvent } from '../../../../src/translate/turn.ts'

const noNotes: ReplyNotes = { tools: new Map(), stop: [] }

function restore(notes: Partial<ReplyNotes>, events: readonly TurnEvent[]): readonly TurnEvent[] {
  const push = createRestorer({ ...noNotes, ...notes })
  if (push === undefined) throw new Error('nothing to restore')
  return events.flatMap(push)
}

const text = (piece: string, slot = 0): TurnEvent => ({ type: 'text.delta', slot, text: piece })
const open = (name: string): TurnEvent => ({ type: 'tool.open', slot: 0, id: 'call_1', name, kind: 'function' })
const args = (piece: string): TurnEvent => ({ type: 'tool.args', slot: 0, text: piece })
const close: TurnEvent = { type: 'part.close', slot: 0 }
const stop: TurnEvent = { type: 'stop', reason: 'end' }

/** Cuts a text at the given places. */
function cut(whole: string, places: readonly number[]): readonly string[] {
  const at = [...new Set(places.map((place) => place % (whole.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...at].map((from, i) => whole.slice(from, at[i] ?? whole.length)).filter((piece) => piece !== '')
}

test('there is nothing to do where the request was not changed', () => {
  expect(createRestorer(noNotes)).toBeUndefined()
})

test('a tool gets its own name and namespace back, others keep theirs', () => {
  const tools = new Map([['gh__list', { name: 'list', namespace: 'gh', kind: 'function' } as const]])
  expect(restore({ tools }, [open('gh__list'), open('other')])).toEqual([
    { type: 'tool.open', slot: 0, id: 'call_1', name: 'list', namespace: 'gh', kind: 'function' },
    open('other'),
  ])
})

describe('a wrapped freeform tool', () => {
  const tools = new Map([['patch', { name: 'patch', kind: 'custom' } as const]])
  const inputOf = (pieces: readonly string[]) =>
    restore({ tools }, [open('patch'), ...pieces.map(args), close])
      .map((event) => (event.type === 'tool.args' ? event.text : ''))
      .join('')

  test('is custom again and has its plain text', () => {
    expect(restore({ tools }, [open('patch'), args('{"input":"*** Be'), args('gin\\n"}'), close])).toEqual([
      { type: 'tool.open', slot: 0, id: 'call_1', name: 'patch', kind: 'custom' },
      args('*** Be'),
      args('gin\n'),
      close,
    ])
  })

  test('has its text whatever the pieces are, escapes and surrogates included', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat()), fc.boolean(), (input, places, ascii) => {
        const json = JSON.stringify({ input })
        const sent = ascii
          ? json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : json
        // `replaceAll` without the u flag sees code units, so that a pair becomes two escapes.
        expect(inputOf(cut(sent, places))).toBe(input)
      }),
    )
  })

  test.each(['{"patch":"x"}', 'plain words', '[1]', '{"input":5}'])('of another shape goes on whole: %s', (sent) => {
    expect(inputOf(cut(sent, [2, 5]))).toBe(sent)
  })

  test('that upstream leaves open at the end loses nothing', () => {
    const events = restore({ tools }, [open('patch'), args('odd'), stop])
    expect(events.slice(1)).toEqual([args('odd'), stop])
  })
})

describe('a stop text', () => {
  test('split over pieces ends the answer before it', () => {
    expect(restore({ stop: ['END'] }, [text('foo E'), text('N'), text('D bar'), text('more'), stop])).toEqual([
      text('foo '),
      close,
      { type: 'stop', reason: 'stop_sequence', stopSequence: 'END' },
    ])
  })

  test('that never comes holds nothing back for good', () => {
    expect(restore({ stop: ['END'] }, [text('foo EN'), close, stop])).toEqual([text('foo '), text('EN'), close, stop])
  })

  test('may be one of more than a function takes arguments', () => {
    const many = Array.from({ length: 200_000 }, (_, at) => `zz${at}`)
    expect(restore({ stop: many }, [text('foo zz1'), text('99999 bar')])).toEqual([
      text('foo '),
      close,
      { type: 'stop', reason: 'stop_sequence', stopSequence: 'zz1' },
    ])
  })

  test('in a tool call is part of the call', () => {
    expect(restore({ stop: ['END'] }, [open('f'), args('END')])).toEqual([open('f'), args('END')])
  })

  test('of several: the earliest counts, wherever the text is cut', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', 'c') }),
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat()),
        (whole, stops, places) => {
          const events = restore({ stop: stops }, [...cut(whole, places).map((piece) => text(piece)), close, stop])
          const shown = events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('')
          const ends = events.flatMap((event) => (event.type === 'stop' ? [event] : []))
          expect(ends).toHaveLength(1)
          const found = stops.some((one) => whole.includes(one))
          expect(ends[0]?.reason).toBe(found ? 'stop_sequence' : 'end')
          if (!found) expect(shown).toBe(whole)
          else {
            expect(whole.startsWith(shown + (ends[0]?.stopSequence ?? '?'))).toBe(true)
            expect(stops.some((one) => shown.includes(one))).toBe(false)
          }
        },
      ),
    )
  })
})
