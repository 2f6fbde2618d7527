/**
 * Characters that hide, reorder or overwrite text. A person who approves a command or a patch must see them.
 * Unicode 16: controls without tab and line feed, zero-width and bidirectional marks, tags, the byte order mark.
 */
const hidden =
  // oxlint-disable-next-line no-control-regex -- controls are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/**
 * @param {string} text
 * @returns {string} the text with hidden characters as escapes, e.g. `\u{202e}`
 */
export function toVisible(text) {
  return text.replaceAll(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
