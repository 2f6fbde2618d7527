import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { parseMarkdown } from '../../src/page/static/markdown.js'

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
    const startMs = performance.now()
    parseMarkdown(source)
    // With quadratic time, a text of this length would take minutes.
    expect(performance.now() - startMs, source.slice(0, 8)).toBeLessThan(15_000)
  }
}, 120_000)
