import { describe, expect, test } from 'vitest'
import { toVisible } from '../../src/page/static/visible-text.js'
import { visible } from '../../src/terminal/visible.ts'

/** All characters that Unicode calls default ignorable, and others that are drawn blank. */
const unseen = [
  ...Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code)).filter((character) =>
    /\p{Default_Ignorable_Code_Point}/u.test(character),
  ),
  '\u2800',
  '\u2028',
  '\u2029',
  '\uFFF9',
  '\uFFFA',
  '\uFFFB',
  '\u{13441}',
  '\u{16FE4}',
  '\u{1D159}',
]

/** The text with each of the characters spelled. */
function spelled(text: string, characters: string): string {
  // Code points, not graphemes: a hidden character is part of a grapheme.
  return Array.from(text)
    .map((each) => (characters.includes(each) ? `\\u{${each.codePointAt(0)?.toString(16)}}` : each))
    .join('')
}

/** As `visible` spells it: four digits without braces where they suffice. */
function onTerminal(text: string): string {
  return text.replaceAll(/\\u\{([\da-f]+)\}/g, (escape, code: string) =>
    code.length > 4 ? escape : `\\u${code.padStart(4, '0')}`,
  )
}

test.each([
  ['between Latin letters', 'pay', 'pal'],
  ['between digits', '10', '00'],
  ['between spaces', 'rm -rf ', ' /tmp'],
  ['alone', '', ''],
  ['after Greek', 'αβ', ''],
  ['before Hebrew', '', 'שלום'],
  ['after Hangul', '한국', '어'],
  ['after kana', 'かな', 'カナ'],
])('letters that nobody sees are spelled %s, on the page and on the terminal', (_where, before, after) => {
  for (const character of unseen) {
    const text = `${before}${character}${after}`
    const expected = spelled(text, character)
    expect(toVisible(text)).toBe(expected)
    expect(visible(text)).toBe(onTerminal(expected))
  }
})

test.each([
  ['Hangul fillers', 'a\u3164b\uFFA0c\u115Fd\u1160e', '\u3164\uFFA0\u115F\u1160'],
  ['a blank of Braille outside Braille', 'const a\u2800 = 1', '\u2800'],
  ['a soft hyphen and a grapheme joiner', 'pass\u00ADword a\u034Fb', '\u00AD\u034F'],
  ['tags without a flag', 'x\u{E0069}\u{E0067}\u{E006E}\u{E007F}', '\u{E0069}\u{E0067}\u{E006E}\u{E007F}'],
  ['selectors after letters', 'a\uFE00b\uFE0Fc\u{E0100}', '\uFE00\uFE0F\u{E0100}'],
  ['a selector for a digit that is no keycap', '1\uFE0F0', '\uFE0F'],
  ['a rare selector after an ideograph', '葛\u{E01EF}', '\u{E01EF}'],
  ['a joiner between Latin letters', 'a\u200Db\u200Cc', '\u200D\u200C'],
  ['a joiner after an emoji, before a letter', '👩\u200Dx', '\u200D'],
  ['bidirectional marks', 'a\u202Eb\u2066c\u2069\u200Fd', '\u202E\u2066\u2069\u200F'],
  ['an unpaired surrogate', 'a\uD800b', '\uD800'],
  ['a space without width between Latin letters', 'a\u200Bb', '\u200B'],
])('%s are spelled on both', (_what, text, characters) => {
  expect(toVisible(text)).toBe(spelled(text, characters))
  expect(visible(text)).toBe(onTerminal(spelled(text, characters)))
})

test('only one of several joiners, selectors and tags can be ordinary', () => {
  expect(toVisible('می\u200C\u200C\u200Dخواهم')).toBe(String.raw`می${'\u200C'}\u{200c}\u{200d}خواهم`)
  expect(toVisible('❤\uFE0F\uFE0F')).toBe(`❤\uFE0F${String.raw`\u{fe0f}`}`)
  expect(toVisible('葛\u{E0100}\u{E0101}')).toBe(`葛\u{E0100}${String.raw`\u{e0101}`}`)
  const long = `🏴${'\u{E0061}'.repeat(20)}\u{E007F}`
  expect(toVisible(long)).toContain(String.raw`\u{e0061}`.repeat(10))
})

describe('ordinary text is unchanged on both', () => {
  test.each([
    ['European', 'Zürich, Škoda, naïve «ça va ?», ŁÓDŹ, Ελλάδα, Привет, e\u0301'],
    ['East Asian', '日本語 ｶﾀｶﾅ 한국어 中文，。「」 葛\u{E0100}飾区 辻\u{E0101} 塚\uFE00'],
    ['Persian', 'می\u200Cخواهم کتاب\u200Cها ه\u200D نامه\u200Cای'],
    ['Arabic', 'السَّلامُ عليكم'],
    ['Hebrew', 'שָׁלוֹם עולם'],
    ['Hindi and Marathi', 'क्\u200Dष र्\u200Dय हिन्दी श्री'],
    ['Malayalam', 'അവന്\u200D നന്ദി'],
    ['Kannada and Telugu', 'ರಾಜ್\u200Cಕುಮಾರ್ బ్యాంక్\u200C'],
    ['Bengali', 'র\u200D্যাব বাংলা'],
    ['Sinhala', 'ශ්\u200Dරී ලංකා'],
    ['Thai, Khmer and Lao', 'ภาษา\u200Bไทย ភាសា\u200Bខ្មែរ ພາສາ\u200Bລາວ'],
    ['Mongolian', 'ᠮᠣᠩᠭᠣᠯ\u180E\u1820 ᠪ\u180Bᠢ'],
    ['Braille', '⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙'],
    ['mathematics', '∩\uFE00 ∑ x² ≤ y'],
    [
      'emoji in families',
      '👩\u200D💻 👨\u200D👩\u200D👧\u200D👦 ❤\uFE0F\u200D🔥 🏳\uFE0F\u200D🌈 🏴\u200D☠\uFE0F 🧑🏽\u200D🚀',
    ],
    [
      'emoji with signs',
      '🕵\uFE0F\u200D♂\uFE0F 🤷🏽\u200D♀\uFE0F 👩\u200D⚕\uFE0F 🏃\u200D♀\uFE0F\u200D➡\uFE0F 🧑\u200D🦰',
    ],
    ['emoji styles', '☎\uFE0E ☎\uFE0F ©\uFE0F ™\uFE0F ℹ\uFE0F ⚡\uFE0F 〰\uFE0F'],
    ['keycaps', '1\uFE0F\u20E3 #\uFE0F\u20E3 *\u20E3'],
    [
      'flags',
      '🇩🇪🇯🇵 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 🏴\u{E0075}\u{E0073}\u{E0074}\u{E0078}\u{E007F}',
    ],
    ['skin tones', '👍🏻👍🏿 ✌🏽'],
    ['spaces that are seen', 'a\u00A0b\u3000c\u2009d'],
  ])('%s', (_what, text) => {
    expect(toVisible(text)).toBe(text)
    expect(visible(text)).toBe(text)
  })
})

test('tabs and line feeds stay on the page, and a terminal gets them as escapes', () => {
  expect([toVisible('a\tb\nc\r'), visible('a\tb\nc\r')]).toEqual(['a\tb\nc\\u{d}', String.raw`a\u0009b\u000ac\u000d`])
})
