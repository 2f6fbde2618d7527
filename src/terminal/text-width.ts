/**
 * What terminals draw two columns wide: East Asian wide and fullwidth characters, and emoji.
 * Source: Unicode Standard Annex #11, "East Asian Width" (2026-11), its ranges made coarse.
 */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\uFE0F|\p{Emoji_Presentation}/u

/** The columns that a terminal gives the text, which holds no control character. */
export function textWidth(text: string): number {
  if (/^[\u0020-\u007E]*$/.test(text)) return text.length
  // A character with its accents, or with what joins it to others, is drawn as one.
  const drawn = new Intl.Segmenter('en').segment(text)
  return [...drawn].reduce((width, { segment }) => width + (wide.test(segment) ? 2 : 1), 0)
}

/** The text with spaces to that width. */
export function padText(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)))
  return align === 'right' ? space + text : text + space
}
