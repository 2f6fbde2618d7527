/** @import { Token } from 'markdown-it/browser' */
import MarkdownIt from 'markdown-it/browser'

/**
 * A text, or an element by its HTML tag. A block of code is a `pre` with the attribute `language` and one text.
 * @typedef {string | MarkdownElement} MarkdownNode
 *
 * @typedef {object} MarkdownElement
 * @property {string} tag
 * @property {Readonly<Record<string, string | number>>} attributes
 * @property {readonly MarkdownNode[]} children
 */

// markdown-it takes linear time for texts on which other parsers take minutes, e.g. 40,000 times `[a](`: mdast-util-from-markdown
// 2.1.0 took 54 s, and @lezer/markdown 1.8.1 and commonmark 0.31.2 did not end within 12 s.
const parser = new MarkdownIt({ html: false, linkify: true })
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
parser.validateLink = (address) => /^https?:\/\//i.test(address)

/**
 * Parses the Markdown that models write. HTML stays text, images become links, and links lead to http and https only. The end of
 * the text ends an unclosed block of code, because the text may still grow.
 * @param {string} source
 * @returns {readonly MarkdownNode[]}
 */
export function parseMarkdown(source) {
  return toNodes(parser.parse(source, {}))
}

/**
 * @param {readonly Token[]} tokens
 * @returns {MarkdownNode[]}
 */
function toNodes(tokens) {
  /** @type {MarkdownNode[]} */
  const nodes = []
  /** The children of the open elements. */
  const open = [nodes]
  for (const token of tokens) {
    const into = open.at(-1) ?? nodes
    if (token.nesting === -1) open.pop()
    else if (token.nesting === 0) into.push(...toLeaves(token))
    // A paragraph of a tight list has no element.
    else if (token.hidden) open.push(into)
    else {
      /** @type {MarkdownNode[]} */
      const children = []
      into.push({ tag: token.tag, attributes: Object.fromEntries(token.attrs ?? []), children })
      open.push(children)
    }
  }
  return nodes
}

/**
 * @param {Token} token
 * @returns {MarkdownNode[]}
 */
function toLeaves(token) {
  const { type, tag, content } = token
  switch (type) {
    case 'inline':
      return toNodes(token.children ?? [])
    case 'softbreak':
      return ['\n']
    case 'hardbreak':
    case 'hr':
      return [{ tag, attributes: {}, children: [] }]
    case 'code_inline':
      return [{ tag, attributes: {}, children: [content] }]
    case 'fence':
    case 'code_block':
      return [{ tag: 'pre', attributes: { language: token.info.trim() }, children: [content.replace(/\n$/, '')] }]
    case 'image':
      return [{ tag: 'a', attributes: { href: token.attrGet('src') ?? '' }, children: [content] }]
    default:
      return content === '' ? [] : [content]
  }
}
