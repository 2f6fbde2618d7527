/**
 * Characters that nobody sees, or that reorder or overwrite other text: controls, unpaired surrogates, what Unicode calls
 * default ignorable (joiners, selectors, tags, fillers, bidirectional marks), separators of lines and annotations, and
 * letters and symbols that are drawn blank (Braille, Hieroglyphs, Khitan, a note without a head).
 */
const hidden =
  /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/gu

/** Letters and marks of scripts whose letters join or form clusters, which a joiner or non-joiner after them controls. */
const joiningScripts =
  'Adlam Arabic Balinese Bengali Chakma Devanagari Grantha Gujarati Gurmukhi Hanifi_Rohingya Javanese ' +
  'Kaithi Kannada Khmer Lao Malayalam Mandaic Manichaean Meetei_Mayek Modi Mongolian Myanmar Newa Nko Oriya ' +
  'Phags_Pa Sharada Sinhala Sogdian Sundanese Syriac Tamil Telugu Thai Tibetan Tirhuta'
const joining = `(?=[\\p{L}\\p{M}])[${joiningScripts.replaceAll(/\w+ ?/g, (name) => `\\p{scx=${name.trim()}}`)}]`

/** Letters of scripts that write no spaces between words. A zero-width space marks where a line may break. */
const unspaced = String.raw`(?=[\p{L}\p{M}])[\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}\p{scx=Thai}\p{scx=Tibetan}\p{scx=Javanese}\p{scx=Balinese}]`

/** A letter or digit of the region of a flag, as a tag. */
const tag = String.raw`[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]`

/**
 * Where a hidden character is ordinary text, because it changes how the characters beside it are drawn: what it is, what
 * ends before it and what begins after it. Sources: Unicode Standard Annex #31 (joiners), Unicode Technical Standard #51
 * (emoji), StandardizedVariants.txt and the Ideographic Variation Database (selectors), 2026-11.
 */
const ordinary = [
  ['[\\u200c\\u200d]', joining, ''],
  ['\\u200b', unspaced, unspaced],
  // Emoji: joined by ZWJ, in emoji or text style, keycaps, and flags of regions.
  ['\\u200d', '(?:\\p{Extended_Pictographic}\\ufe0f?|\\p{Emoji_Modifier})', '\\p{Extended_Pictographic}'],
  ['[\\ufe0e\\ufe0f]', '(?!\\p{ASCII})\\p{Emoji}', ''],
  ['[\\ufe0e\\ufe0f]', '[0-9#*]', '\\u20e3'],
  [tag, `\\u{1f3f4}${tag}{0,4}`, `${tag}{0,4}\\u{e007f}`],
  ['\\u{e007f}', `\\u{1f3f4}${tag}{3,5}`, ''],
  // Variants of ideographs, of CJK punctuation, of mathematical operators and of letters.
  ['[\\ufe00-\\ufe02\\u{e0100}-\\u{e011f}]', '\\p{Unified_Ideograph}', ''],
  ['[\\ufe00\\ufe01]', '[\\u3001\\u3002\\uff01\\uff0c\\uff0e\\uff1a\\uff1b\\uff1f]', ''],
  ['\\ufe00', '[\\u2205-\\u22db\\u2a3c-\\u2acc\\p{scx=Myanmar}\\p{scx=Phags_Pa}\\p{scx=Manichaean}]', ''],
  ['[\\u180b-\\u180d\\u180f]', '(?=\\p{L})\\p{Script=Mongolian}', ''],
  ['\\u180e', '[\\p{Script=Mongolian}\\u180b-\\u180d\\u180f]', '\\p{Script=Mongolian}'],
  ['[\\ufe00-\\ufe06\\u{13430}-\\u{13442}]', '\\p{Script=Egyptian_Hieroglyphs}', ''],
  // The space between words in Braille.
  ['\\u2800', '[\\u2801-\\u28ff]', '[\\u2801-\\u28ff]'],
].map(([character, before, after]) => ({
  character: new RegExp(`^${character}$`, 'u'),
  before: new RegExp(`${before}$`, 'u'),
  after: new RegExp(`^${after}`, 'u'),
}))

/** UTF-16 units: a flag with the six tags of its region. */
const longestContext = 16

/**
 * Replaces each hidden character, unless it is ordinary text where it stands.
 * @param {string} text
 * @param {(character: string) => string} escape
 * @returns {string}
 */
export function replaceHidden(text, escape) {
  return text.replaceAll(hidden, (character, /** @type {number} */ at) => {
    const end = at + character.length
    const isOrdinary = ordinary.some(
      (place) =>
        place.character.test(character) &&
        place.before.test(text.slice(Math.max(0, at - longestContext), at)) &&
        place.after.test(text.slice(end, end + longestContext)),
    )
    return isOrdinary ? character : escape(character)
  })
}

/**
 * As `toVisible`, for JSON text, which stays the same JSON: hidden characters can only be in its strings. Line breaks
 * between its values stay.
 * @param {string} json
 * @returns {string}
 */
export function toVisibleJson(json) {
  return replaceHidden(json, (character) => (character === '\n' ? character : inUnits(character)))
}

/** @param {string} character */
function inUnits(character) {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
}

/**
 * Shows hidden characters, so that a person who approves a command or a patch sees them.
 * @param {string} text
 * @returns {string} the text with hidden characters as escapes, e.g. `\u{202e}`. Tabs and line feeds stay.
 */
export function toVisible(text) {
  return replaceHidden(text, (character) =>
    character === '\t' || character === '\n' ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
