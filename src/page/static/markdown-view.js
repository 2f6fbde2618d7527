/** @import { MarkdownNode } from './markdown.js' */
import { element } from './dom.js'
import { parseMarkdown } from './markdown.js'
import { copyButton } from './copy-button.js'
import { spaceOut } from './space-out.js'
import { toVisible } from './visible-text.js'

/**
 * Shows Markdown that may still grow. Unchanged blocks keep their nodes.
 * @returns {{ node: HTMLElement, update: (source: string) => void }}
 */
export function createMarkdownView() {
  const node = element('div', { class: 'markdown' })
  /** @type {string[]} */
  let shown = []
  /** @param {string} source */
  function render(source) {
    const blocks = parseMarkdown(source)
    const next = blocks.map((block) => JSON.stringify(block))
    let same = 0
    while (same < shown.length && shown[same] === next[same]) same += 1
    while (node.children.length > same) node.lastElementChild?.remove()
    // Not one call with all of them: a call takes a limited number of arguments.
    for (const block of blocks.slice(same)) node.append(toDom(block))
    shown = next
  }
  return { node, update: spaceOut(render, { now: () => performance.now(), setTimer: setTimeout }) }
}

/**
 * @param {MarkdownNode} node
 * @returns {Node}
 */
function toDom(node) {
  if (typeof node === 'string') return document.createTextNode(toVisible(node))
  const { tag, attributes, children } = node
  if (tag === 'pre')
    return toCodeBlock(children.filter((child) => typeof child === 'string').join(''), String(attributes['language']))
  const nodes = children.map(toDom)
  switch (tag) {
    case 'a': {
      const href = String(attributes['href'])
      return element(
        'a',
        { href, title: toVisible(href), rel: 'noopener noreferrer nofollow', target: '_blank' },
        ...nodes,
      )
    }
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6':
      // All headings are below the page's own ones. The class sets the size for the level in the text.
      return element('h4', { class: `heading-${tag.slice(1)}` }, ...nodes)
    case 'th':
      return element('th', { scope: 'col' }, ...nodes)
    case 'ol':
      return element('ol', { start: attributes['start'] }, ...nodes)
    case 'p':
    case 'blockquote':
    case 'ul':
    case 'li':
    case 'table':
    case 'thead':
    case 'tbody':
    case 'tr':
    case 'td':
    case 'hr':
    case 'br':
    case 'strong':
    case 'em':
    case 'code':
      return element(tag, {}, ...nodes)
    case 's':
      return element('del', {}, ...nodes)
    default:
      return element('span', {}, ...nodes)
  }
}

/**
 * @param {string} text
 * @param {string} language
 */
function toCodeBlock(text, language) {
  return element(
    'figure',
    { class: 'code' },
    element(
      'figcaption',
      {},
      element('span', {}, language || 'code'),
      copyButton(() => text, 'Copy the code'),
    ),
    element('pre', {}, element('code', {}, text)),
  )
}
