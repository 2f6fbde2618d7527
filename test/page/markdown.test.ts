import { some } from '../thorough.ts'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../cpu-time.ts'
import fc from 'fast-check'
import { parseMarkdown } from '../../src/page/static/markdown.js'
import { spaceOut } from '../../src/page/static/space-out.js'

type Tree = ReturnType<typeof parseMarkdown>

/** Returns the visible text of nodes, the language of code included. */
function plain(nodes: Tree): string {
  return nodes
    .map((node) => (typeof node === 'string' ? node : `${node.attributes['language'] ?? ''}${plain(node.children)}`))
    .join('')
}

const letters = (value: string) => value.replaceAll(/[^aZ9]/g, '')

/** Writes nodes as an outline like `p[one em[two]]`, without empty texts. */
function outline(nodes: Tree): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node
      const attributes = Object.entries(node.attributes).map(([name, value]) => `${name}=${value}`)
      return `${[node.tag, ...attributes].join(' ')}[${outline(node.children)}]`
    })
    .join('')
}

const outlineOf = (source: string) => outline(parseMarkdown(source))

test.each([
  ['headings, with marks at their end or not', '# One\n### Three ###\n#no', 'h1[One]h3[Three]p[#no]'],
  ['code', '```ts\na = `**`\n\n# no\n```\nafter', 'pre language=ts[a = `**`\n\n# no]p[after]'],
  ['code that still comes', '~~~\nstill coming', 'pre language=[still coming]'],
  ['code with marks in it', '````\n```\n````', 'pre language=[```]'],
  ['lists in lists', 'Two:\n- one\n- two\n  - inner', 'p[Two:]ul[li[one]li[twoul[li[inner]]]]'],
  ['the number of a list', '3. three\n4. four', 'ol start=3[li[three]li[four]]'],
  ['code in a list', '1. run\n   ```sh\n   npm test\n   ```\n2. look', 'ol[li[runpre language=sh[npm test]]li[look]]'],
  [
    'tables, and fills short rows',
    '| a | b |\n|---|---|\n| `x` | 1 |\n| y |',
    'table[thead[tr[th[a]th[b]]]tbody[tr[td[code[x]]td[1]]tr[td[y]td[]]]]',
  ],
  ['quotes and rules', '> a\n> - b\n\n---', 'blockquote[p[a]ul[li[b]]]hr[]'],
  ['emphasis in emphasis', '**a *b* c**', 'p[strong[a em[b] c]]'],
  ['names and sums as they are', 'snake_case_name and 2 * 3 * 4', 'p[snake_case_name and 2 * 3 * 4]'],
  ['marks that do not end', '**not closed', 'p[**not closed]'],
  ['deleted text', '~~a~~', 'p[s[a]]'],
  ['line breaks', 'a  \nb\nc', 'p[abr[]b\nc]'],
  ['marks in code', '`**a**` and `` ` ``', 'p[code[**a**] and code[`]]'],
  ['links', '[a](https://example.com/x)', 'p[a href=https://example.com/x[a]]'],
  [
    'bare addresses without the punctuation around them',
    'see https://example.com/a_b.',
    'p[see a href=https://example.com/a_b[https://example.com/a_b].]',
  ],
  ['an image as a link', '![a](https://example.com/a.png)', 'p[a href=https://example.com/a.png[a]]'],
  ['HTML as text', '<img src=x onerror=alert(1)>', 'p[<img src=x onerror=alert(1)>]'],
  ['a block of HTML as text', '<script>\nalert(1)\n</script>', 'p[<script>\nalert(1)\n</script>]'],
])('reads %s', (_what, source, expected) => {
  expect(outlineOf(source)).toBe(expected)
})

test.each([
  'javascript:alert(1)',
  ' javascript:1',
  'data:text/html,x',
  'data:image/png;base64,iVBORw0KGgo=',
  '//evil.example',
  'file:///etc/passwd',
  'vbscript:x',
  '#a',
  'mailto:a@example.com',
])('makes no link to %s', (target) => {
  expect(outlineOf(`[a](${target}) ![b](${target}) <${target}>`)).not.toContain('href')
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
