import { fc } from '../../fast-check.ts'
import { times } from '../../thorough.ts'
import { describe, expect, test } from 'vitest'
import {
  learnTemplate,
  matchTemplate,
  renderMatch,
  startTemplates,
} from '../../../src/translate/parts/event-template.ts'
import type { EventTemplates, TemplateField } from '../../../src/translate/parts/event-template.ts'
import { parseObject } from '../../../src/json/json.ts'

const fields: readonly TemplateField[] = [
  { path: ['choices', 0, 'delta', 'content'], kind: 'text' },
  { path: ['n'], kind: 'integer' },
  { path: ['id'], kind: 'text' },
]

const asItIs = () => false

function normalise(event: Record<string, unknown>): boolean {
  event['x'] = undefined
  event['object'] = 'chunk'
  return true
}

function number(event: Record<string, unknown>): boolean {
  event['n'] = 0
  return true
}

function withoutNumber(event: Record<string, unknown>): boolean {
  event['n'] = undefined
  return true
}

function learned(text: string, repair: Parameters<typeof learnTemplate>[2] = asItIs): EventTemplates {
  const templates = startTemplates(fields)
  learnTemplate(templates, text, repair)
  return templates
}

function chunk(content: string, more = ''): string {
  return `{"choices":[{"index":0,"delta":{"content":${content}},"finish_reason":null}],"n":3${more}}`
}

describe('a template', () => {
  test('reads an event that differs in its fields', () => {
    const templates = learned(chunk('"a"', ',"id":"x"'))
    const text = chunk('"bc"', ',"id":""').replace('"n":3', '"n":41')
    expect(matchTemplate(templates, text)).toEqual(JSON.parse(text))
    expect(renderMatch(templates, text)).toBe(text)
  })

  test.each([
    '"\\n"',
    '"\\u0041"',
    '"\\ud800"',
    '"\\"}"',
    '"\\\\"',
    '"\ud800"',
    '"\u2028é👋"',
    '"a longer piece of text"',
  ])('reads the string %j', (literal) => {
    const templates = learned(chunk('"a"'))
    const text = chunk(literal)
    expect(matchTemplate(templates, text)).toEqual(JSON.parse(text))
    expect(renderMatch(templates, text)).toBe(text)
  })

  test.each([
    ['what is no JSON', chunk('"a\nb"')],
    ['an escape that is none', chunk('"\\x"')],
    ['an escaped end', chunk('"a\\"')],
    ['a member that content smuggles in', chunk('"","finish_reason":"stop"')],
    ['another kind of value', chunk('null')],
    ['another member', chunk('"a"').replace('null', '"stop"')],
    ['one member more', chunk('"a"', ',"more":1')],
    ['white space', `${chunk('"a"')} `],
    ['half of it', chunk('"a"').slice(0, -1)],
    ['nothing', ''],
    ['a number with a leading zero', chunk('"a"').replace(':3', ':03')],
    ['a fraction', chunk('"a"').replace(':3', ':3.5')],
    ['an exponent', chunk('"a"').replace(':3', ':3e5')],
    ['a negative number', chunk('"a"').replace(':3', ':-3')],
    ['no number', chunk('"a"').replace(':3', ':')],
    ['a number that is not exact', chunk('"a"').replace(':3', ':9007199254740993')],
  ])('does not match %s', (_, text) => {
    expect(matchTemplate(learned(chunk('"a"')), text)).toBeUndefined()
  })

  test.each([
    ['an event without fields', '{"a":1}'],
    ['what is no object', '["a"]'],
    ['what is no JSON', '{"id":"a"'],
    ['a field that is there twice', '{"id":"a","id":"b"}'],
    ['a field that is there twice, once as another kind', '{"id":"a","id":null}'],
    ['a field that another kind of value replaces', '{"id":"a","id":{}}'],
    ['a field that is hidden by escapes', '{"id":"a","\\u0069d":"b"}'],
    ['a field whose object is replaced', '{"choices":[{"delta":{"content":"a"}}],"choices":[]}'],
    ['a field whose object is replaced in part', '{"choices":[{"delta":{"content":"a"},"delta":{}}]}'],
    ['what is longer than 4096 characters', `{"id":"a","x":"${'x'.repeat(4096)}"}`],
  ])('is not learned from %s', (_, text) => {
    expect(learned(text).last).toBeUndefined()
  })

  test('matches whatever precedes its fields', () => {
    const text =
      '{ "a" : [ {}, [], {"id":"no"}, "id" ], "" : "\\"", "id" : "x", "choices": [ { "delta" : {"content" : ""} } ] }'
    const templates = learned(text)
    const other = text.replace('"x"', '"other"').replace(': ""}', ': "more"}')
    expect(matchTemplate(templates, other)).toEqual(JSON.parse(other))
  })

  test('is not learned from every event where none repeats another', () => {
    const templates = startTemplates(fields)
    let learning = 0
    for (let at = 0; at < 1000; at += 1) {
      learnTemplate(templates, chunk('"a"', `,"at":${at}`), () => {
        learning += 1
        return false
      })
    }
    expect(learning).toBeLessThan(30)
    // And yet once they do.
    for (let at = 0; at < 64; at += 1) learnTemplate(templates, chunk('"a"'), asItIs)
    expect(matchTemplate(templates, chunk('"b"'))).toBeDefined()
  })
})

test('when shapes alternate, one is matched and the others are not learned again and again', () => {
  const templates = startTemplates(fields)
  let matched = 0
  let learning = 0
  for (let at = 0; at < 1000; at += 1) {
    const text = chunk(`"${at}"`, at % 2 === 0 ? ',"more":1' : '')
    if (matchTemplate(templates, text) !== undefined) matched += 1
    else {
      learnTemplate(templates, text, () => {
        learning += 1
        return false
      })
    }
  }
  expect(matched).toBeGreaterThan(times(480))
  expect(learning).toBeLessThan(30)
})

describe('a rendered match', () => {
  test("has other literals in place of upstream's, and all else as upstream wrote it", () => {
    const templates = learned(chunk('"a"', ',"id":"x"'))
    const text = chunk('"\\u0041"', ',"id":"y"')
    matchTemplate(templates, text)
    const literals = [undefined, '17', '"own"']
    expect(renderMatch(templates, text, literals)).toBe(chunk('"\\u0041"', ',"id":"own"').replace(':3', ':17'))
  })

  test('is normalised as the learned event was', () => {
    const templates = learned('{ "id": "x", "old": 1 }', normalise)
    const text = '{ "id": "\\u0041\\ud800", "old": 1 }'
    expect(matchTemplate(templates, text)).toEqual({ id: 'A\ud800', old: 1, object: 'chunk', x: undefined })
    expect(renderMatch(templates, text)).toBe('{"id":"A\\ud800","old":1,"object":"chunk"}')
    expect(renderMatch(templates, text, [undefined, undefined, '"own"'])).toBe('{"id":"own","old":1,"object":"chunk"}')
  })

  test('is without the fields that normalising removed', () => {
    const templates = learned('{"id":"x","n":1}', withoutNumber)
    expect(matchTemplate(templates, '{"id":"y","n":22}')).toEqual({ id: 'y', n: undefined })
    expect(renderMatch(templates, '{"id":"y","n":22}')).toBe('{"id":"y"}')
    expect(matchTemplate(templates, '{"id":"y","n":}')).toBeUndefined()
  })

  test('is what JSON.stringify makes of an event that got an id and a number of ours', () => {
    const wanted: readonly TemplateField[] = [
      { path: ['item_id'], kind: 'text' },
      { path: ['sequence_number'], kind: 'integer' },
      { path: ['delta'], kind: 'text' },
      { path: ['obfuscation'], kind: 'text' },
    ]
    const text = fc.string({ unit: 'binary', maxLength: 20 })
    const events = fc.record({ delta: text, item_id: text, obfuscation: text, sequence_number: fc.nat() })
    fc.assert(
      fc.property(fc.array(events, { minLength: 2 }), fc.boolean(), (all, isNumbered) => {
        const templates = startTemplates(wanted)
        for (const [at, { sequence_number, ...members }] of all.entries()) {
          const event: Record<string, unknown> = {
            type: 'response.output_text.delta',
            ...(isNumbered && { sequence_number }),
            ...members,
          }
          const data = JSON.stringify(event)
          const match = matchTemplate(templates, data)
          expect(match !== undefined).toBe(at > 0)
          if (match !== undefined) {
            const settled = { ...event, item_id: 'own "id"', sequence_number: at, obfuscation: undefined }
            expect(match).toMatchObject({ delta: members.delta, obfuscation: undefined })
            expect(renderMatch(templates, data, ['"own \\"id\\""', String(at)])).toBe(JSON.stringify(settled))
          }
          learnTemplate(templates, data, (learning) => {
            learning['sequence_number'] ??= 0
            learning['obfuscation'] = undefined
            return true
          })
        }
      }),
    )
  })

  test('can have other literals in fields that normalising added', () => {
    const templates = learned('{"id":"x"}', number)
    const text = '{"id":"y"}'
    matchTemplate(templates, text)
    expect(renderMatch(templates, text)).toBe('{"id":"y","n":0}')
    expect(renderMatch(templates, text, [undefined, '9'])).toBe('{"id":"y","n":9}')
  })
})

describe('whatever comes', () => {
  const literal = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `"${text}"`) },
    {
      weight: 2,
      arbitrary: fc.array(fc.constantFrom('"', '\\', 'u00', '41', 'n', ',', '}', 'a', '\n')).map((all) => all.join('')),
    },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '"","id":"b"',
        '"","n":3',
        '0',
        '00',
        '-0',
        '1e3',
        '123456789012345',
        '1234567890123456',
      ),
    },
  )
  const member = fc
    .tuple(
      fc.constantFrom('"choices"', '"id"', '"i\\u0064"', '"n"', '"x"'),
      fc.oneof(
        literal,
        literal.map((value) => `[{"delta":{"content":${value}}}]`),
        fc.tuple(literal, literal).map(([a, b]) => `[{"delta":{"content":${a},"content":${b}}}]`),
        literal.map((value) => `[{"delta":{"content":${value}},"delta":{}}]`),
      ),
    )
    .map(([key, value]) => `${key}:${value}`)
  const event = fc.oneof(
    fc.array(member, { maxLength: 3 }).map((members) => `{${members.join(',')}}`),
    fc.constantFrom('{"id":"a"}', '{"n":1,"id":"a"}', chunk('"a"'), chunk('"é"', ',"x":{},"id":""')),
  )
  /** Events that are each other's but for a literal. */
  const family = fc
    .tuple(event, fc.constantFrom('', ' '), fc.array(fc.tuple(fc.nat(), literal), { maxLength: 8 }))
    .map(([first, end, edits]) => [first, first + end].concat(edits.map((edit) => edited(first, edit))))

  test('a match is what JSON.parse makes of it, and is rendered as it came', () => {
    let matched = 0
    fc.assert(
      fc.property(family, (texts) => {
        const templates = startTemplates(fields)
        for (const text of texts) {
          const match = matchTemplate(templates, text)
          if (match === undefined) {
            learnTemplate(templates, text, asItIs)
            continue
          }
          matched += 1
          expect(match).toEqual(JSON.parse(text))
          expect(renderMatch(templates, text)).toBe(text)
        }
      }),
      { numRuns: 5000 },
    )
    expect(matched).toBeGreaterThan(times(2000))
  })

  test('a normalised match equals the normalised event', () => {
    let matched = 0
    fc.assert(
      fc.property(family, (texts) => {
        const templates = startTemplates(fields)
        for (const text of texts) {
          const match = matchTemplate(templates, text)
          if (match === undefined) {
            learnTemplate(templates, text, normalise)
            continue
          }
          matched += 1
          const value = parseObject(text) ?? {}
          normalise(value)
          expect(match).toEqual(value)
          expect(renderMatch(templates, text)).toBe(JSON.stringify(value))
        }
      }),
      { numRuns: 5000 },
    )
    expect(matched).toBeGreaterThan(times(2000))
  })
})

/** The event with another literal in place of one of its values. */
function edited(text: string, [at, literal]: readonly [number, string]): string {
  const values = [...text.matchAll(/(?<=:)(?:"(?:[^"\\]|\\.)*"|\d+)/g)]
  const value = values[at % Math.max(1, values.length)]
  return value === undefined ? text : text.slice(0, value.index) + literal + text.slice(value.index + value[0].length)
}
