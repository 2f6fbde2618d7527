import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { DEMO_MARKERS, markerNumber, parseMarkers } from './markers.ts'

test('reads several markers with their arguments from one text', () => {
  const markers = parseMarkers('Please [demo:long 500] and [demo:slow  20 ][demo:error 429 7] [demo:cut].')
  expect([...markers.asked]).toEqual([
    ['long', ['500']],
    ['slow', ['20']],
    ['error', ['429', '7']],
    ['cut', []],
  ])
  expect(markerNumber(markers, 'long', 0)).toBe(500)
  expect(markerNumber(markers, 'error', 0, 1)).toBe(7)
  expect(markerNumber(markers, 'tool', 7)).toBe(7)
})

test('reports what it does not know', () => {
  const unknown = ['[demo:long]', '[demo:slow ms]', '[demo:tol]', '[demo:tool_x]']
  expect(parseMarkers(unknown.join(' ')).unknown).toEqual(unknown)
})

test('reads a marker of the caller’s own apart from those of the table', () => {
  const { asked, others, unknown } = parseMarkers('[demo:frames 10 4][demo:cut][demo:pause]', ['frames'])
  expect([...others]).toEqual([['frames', ['10', '4']]])
  expect([...asked.keys()]).toEqual(['cut'])
  expect(unknown).toEqual(['[demo:pause]'])
})

test('a tool marker takes a name, and JSON with brackets and quotes of its own', () => {
  const json = '{"command":["sh","-c","echo \\"]\\""]}'
  const { asked, tools, unknown } = parseMarkers(
    `[demo:tool] [demo:tool a] [demo:tool shell ${json} ] [demo:tool "x]"]`,
  )
  expect(unknown).toEqual([])
  expect(asked.get('tool')).toEqual(['', '"x]"'])
  expect(tools).toEqual([
    { name: '', given: undefined },
    { name: 'a', given: undefined },
    { name: 'shell', given: json },
    { name: '', given: '"x]"' },
  ])
})

test('JSON that is none makes a marker unknown', () => {
  const unknown = ['[demo:tool Read {"file_path":}]', '[demo:tool Read {x]', '[demo:tool Read it]']
  expect(parseMarkers(unknown.join(' ')).unknown).toEqual(unknown)
})

test('a script is a list of steps, with brackets in its texts', () => {
  const json = '[{"text":"[x] ]"},{"calls":[{"tool":"fs_read","args":{"path":"a"}}]}]'
  expect(parseMarkers(`[demo:script ${json}] and [demo:slow 5]`).asked).toEqual(
    new Map([
      ['script', ['', json]],
      ['slow', ['5']],
    ]),
  )
  const unknown = ['[demo:script other]', '[demo:script [{"txt":"x"}]]', '[demo:script []]']
  expect(parseMarkers(unknown.join(' ')).unknown).toEqual(unknown)
})

test('a number that means nothing is not known', () => {
  const unknown = ['[demo:long 0]', '[demo:error 999]', '[demo:error 200]', '[demo:error 0]']
  expect(parseMarkers(unknown.join(' ')).unknown).toEqual(unknown)
  expect(parseMarkers('[demo:slow 0] [demo:error 400] [demo:error 599] [demo:long 1]').unknown).toEqual([])
})

test('a huge number is bounded', () => {
  expect(markerNumber(parseMarkers('[demo:long 99999999999999999999]'), 'long', 0)).toBe(1_000_000)
})

test('every marker of the table works at any position in a text', () => {
  const row = fc.constantFrom(...DEMO_MARKERS)
  fc.assert(
    fc.property(fc.string(), row, fc.string(), (before, { name }, after) => {
      // JSON comes after the name of a tool, which a script has not.
      const given = name === 'script' ? ['', '[{}]'] : ['500']
      const marker = `[demo:${name} ${given.join('')}]`
      const { asked } = parseMarkers(`${before.replaceAll('[', '(')}${marker}${after.replaceAll('[', '(')}`)
      expect([...asked]).toEqual([[name, given]])
    }),
  )
})

test('any text is read without a fault, and none of it is lost to a half-written marker', () => {
  const scraps = fc.array(fc.constantFrom('[demo:', 'long', ' ', '12', ']', '\n', '[', 'x'), { maxLength: 20 })
  fc.assert(
    fc.property(scraps, (parts) => {
      const text = parts.join('')
      for (const whole of parseMarkers(text).unknown) expect(text).toContain(whole)
    }),
  )
})
