import { some } from '../thorough.ts'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../cpu-time.ts'
import fc from 'fast-check'
import { parseMarkdown } from '../../src/page/static/markdown.js'
import { spaceOut } from '../../src/page/static/space-out.js'

const text = (value: string) => ({ type: 'text', text: value })
const paragraph = (...children: object[]) => ({ type: 'paragraph', children })

/** Returns the visible text of blocks. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join('')
  if (typeof value !== 'object' || value === null) return ''
  const fields = Object.entries(value)
  return fields.map(([name, field]) => (name === 'text' || name === 'language' ? String(field) : plain(field))).join('')
}

const letters = (value: string) => value.replaceAll(/[^aZ9]/g, '')

/** Returns the inline elements of a text that is one paragraph. */
function inline(source: string) {
  const [block] = parseMarkdown(source)
  return block?.type === 'paragraph' ? block.children : undefined
}

describe('blocks', () => {
  test('reads headings, with marks at their end or not', () => {
    expect(parseMarkdown('# One\n### Three ###\n#no')).toEqual([
      { type: 'heading', level: 1, children: [text('One')] },
      { type: 'heading', level: 3, children: [text('Three')] },
      paragraph(text('#no')),
    ])
  })

  test('keeps code as it is, and takes an unclosed block as code', () => {
    expect(parseMarkdown('```ts\nconst a = `**`\n\n# no\n```\nafter')).toEqual([
      { type: 'code', language: 'ts', text: 'const a = `**`\n\n# no' },
      paragraph(text('after')),
    ])
    expect(parseMarkdown('~~~\nstill coming')).toEqual([{ type: 'code', language: '', text: 'still coming' }])
    expect(parseMarkdown('````\n```\n````')).toEqual([{ type: 'code', language: '', text: '```' }])
  })

  test('reads lists within lists, and their numbers', () => {
    expect(parseMarkdown('Two:\n- one\n- two\n  - inner\n\n3. three\n4. four')).toEqual([
      paragraph(text('Two:')),
      {
        type: 'list',
        start: undefined,
        items: [
          [paragraph(text('one'))],
          [paragraph(text('two')), { type: 'list', start: undefined, items: [[paragraph(text('inner'))]] }],
        ],
      },
      { type: 'list', start: 3, items: [[paragraph(text('three'))], [paragraph(text('four'))]] },
    ])
  })

  test('keeps code within a list item', () => {
    expect(parseMarkdown('1. run\n   ```sh\n   npm test\n   ```\n2. look')).toMatchObject([
      { type: 'list', items: [[{}, { type: 'code', language: 'sh', text: 'npm test' }], [{}]] },
    ])
  })

  test('reads tables, and fills short rows', () => {
    expect(parseMarkdown('| a | b |\n|---|:-:|\n| `x` | 1 |\n| y |')).toEqual([
      {
        type: 'table',
        header: [[text('a')], [text('b')]],
        rows: [
          [[{ type: 'code', text: 'x' }], [text('1')]],
          [[text('y')], []],
        ],
      },
    ])
  })

  test('reads quotes and rules', () => {
    expect(parseMarkdown('> a\n> - b\n\n---')).toMatchObject([
      { type: 'quote', blocks: [{ type: 'paragraph' }, { type: 'list' }] },
      { type: 'rule' },
    ])
  })
})

describe('inline', () => {
  test('reads emphasis within emphasis, and leaves names and sums alone', () => {
    expect(inline('**a *b* c**')).toEqual([
      { type: 'strong', children: [text('a '), { type: 'em', children: [text('b')] }, text(' c')] },
    ])
    expect(inline('snake_case_name and 2 * 3 * 4')).toEqual([text('snake_case_name and 2 * 3 * 4')])
    expect(inline('**not closed')).toEqual([text('**not closed')])
  })

  test('keeps marks within code', () => {
    expect(inline('`**a**` and `` ` ``')).toEqual([
      { type: 'code', text: '**a**' },
      text(' and '),
      { type: 'code', text: '`' },
    ])
  })

  test('links to http and https only', () => {
    expect(inline('[a](https://example.com/x "title")')).toEqual([
      { type: 'link', href: 'https://example.com/x', children: [text('a')] },
    ])
    for (const target of [
      'javascript:alert(1)',
      ' javascript:1',
      'data:text/html,x',
      '//evil.example',
      'file:///etc/passwd',
      'vbscript:x',
      '#a',
    ]) {
      expect(inline(`[a](${target})`)).toEqual([text(`[a](${target})`)])
    }
  })

  test('links bare addresses without the punctuation around them', () => {
    expect(inline('see https://example.com/a_b.')).toEqual([
      text('see '),
      { type: 'link', href: 'https://example.com/a_b', children: [text('https://example.com/a_b')] },
      text('.'),
    ])
  })

  test('loads no image and reads no HTML', () => {
    expect(inline('![a](https://example.com/a.png)')).toEqual([
      { type: 'link', href: 'https://example.com/a.png', children: [text('a')] },
    ])
    expect(inline('<img src=x onerror=alert(1)>')).toEqual([text('<img src=x onerror=alert(1)>')])
  })
})

test('loses no letter and no digit of any text without links', () => {
  const words = fc.array(
    fc.constantFrom(
      'a',
      'Z9',
      '*',
      '**',
      '_',
      '`',
      '```',
      '\n',
      '\n\n',
      '- ',
      '1. ',
      '> ',
      '# ',
      '|',
      ' ',
      '~~',
      '<b>',
    ),
  )
  fc.assert(
    fc.property(words, (parts) => {
      const source = parts.join('')
      expect(letters(plain(parseMarkdown(source)))).toBe(letters(source))
    }),
  )
})

test('takes time in proportion to the text, whatever the text is', () => {
  const bad = [
    '*a**',
    '[',
    '](',
    '`a``',
    '> ',
    '- ',
    '  - ',
    '_a_',
    '#'.repeat(6),
    ' ',
    '|-',
    '\\',
    'http://',
    '~~a',
    '![',
  ].map((part) => part.repeat(40_000))
  for (const source of [...bad, `# ${' '.repeat(100_000)}x`, `|a\n-${' '.repeat(100_000)}x`]) {
    const startMs = cpuMs()
    parseMarkdown(source)
    // With quadratic time, a text of this length would take minutes.
    expect(cpuMs() - startMs, source.slice(0, 8)).toBeLessThan(15_000)
  }
}, 120_000)

/** The time for a text of as many lines, the shortest of three. Ms. */
function msFor(toSource: (lines: number) => string, lines: number): number {
  const source = toSource(lines)
  const times = [0, 1, 2].map(() => {
    const startMs = cpuMs()
    parseMarkdown(source)
    return cpuMs() - startMs
  })
  return Math.min(...times)
}

const growing = [
  ['a paragraph', (lines: number) => 'some words\n'.repeat(lines)],
  ['a paragraph with trailing spaces', (lines: number) => `a${' '.repeat(20)}\n`.repeat(lines)],
  ['escapes', (lines: number) => '\\*\n'.repeat(lines)],
  ['open emphasis', (lines: number) => 'a *b **c\n'.repeat(lines)],
  ['open links', (lines: number) => '[a](b\n'.repeat(lines)],
  ['addresses', (lines: number) => 'http://a.b/c\n'.repeat(lines)],
  ['a list', (lines: number) => '- a\n'.repeat(lines)],
  [
    'a nested list',
    (lines: number) => Array.from({ length: lines }, (_, at) => `${'  '.repeat(at % 8)}- a\n`).join(''),
  ],
  ['quotes', (lines: number) => '> > > a\n'.repeat(lines)],
  ['a wide table', (lines: number) => `${'|a'.repeat(lines)}\n|-|\n${'|c\n'.repeat(lines)}`],
] as const

test.each(some(growing, 3))(
  'the time grows in proportion to the number of lines: %s',
  { timeout: 120_000 },
  (_what, toSource) => {
    msFor(toSource, 2000)
    // Ten times the lines take about ten times as long; with quadratic time a hundred times. 10 ms keep noise out.
    expect(msFor(toSource, 40_000)).toBeLessThan(40 * (msFor(toSource, 4000) + 10))
  },
)

describe('spaceOut', () => {
  test('a text in 10,000 pieces is shown a few times only, the last one included, if showing it takes long', () => {
    let nowMs = 0
    const shown: number[] = []
    const timers: { readonly run: () => void; readonly atMs: number }[] = []
    const show = spaceOut<number>(
      (pieces) => {
        shown.push(pieces)
        nowMs += pieces / 50
      },
      { now: () => nowMs, setTimer: (run, delayMs) => timers.push({ run, atMs: nowMs + delayMs }) },
    )
    for (let pieces = 1; pieces <= 10_000; pieces += 1) {
      nowMs += 1
      for (const { run } of timers.filter(({ atMs }) => atMs <= nowMs)) {
        timers.shift()
        run()
      }
      show(pieces)
    }
    nowMs += 1000
    for (const { run } of timers) run()
    expect(shown.at(-1)).toBe(10_000)
    // Every piece up to 400, which takes 8 ms; then a quarter of the time.
    expect(shown.length).toBeLessThan(900)
    expect(shown.slice(0, 3)).toEqual([1, 2, 3])
  })
})
