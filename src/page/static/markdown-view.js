/** @import { Block, Inline } from './markdown.js' */
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
    for (const block of blocks.slice(same)) node.append(toElement(block))
    shown = next
  }
  return { node, update: spaceOut(render, { now: () => performance.now(), setTimer: setTimeout }) }
}

/**
 * @param {Block} block
 * @returns {HTMLElement}
 */
function toElement(block) {
  switch (block.type) {
    case 'heading':
      // All headings are below the page's own ones. The class sets the size for the level in the text.
      return element('h4', { class: `heading-${block.level}` }, ...toNodes(block.children))
    case 'paragraph':
      return element('p', {}, ...toNodes(block.children))
    case 'code':
      return toCodeBlock(block.text, block.language)
    case 'quote':
      return element('blockquote', {}, ...block.blocks.map(toElement))
    case 'list': {
      const items = block.items.map((blocks) => element('li', {}, ...toItemNodes(blocks)))
      return block.start === undefined ? element('ul', {}, ...items) : element('ol', { start: block.start }, ...items)
    }
    case 'table':
      return element(
        'table',
        {},
        element(
          'thead',
          {},
          element('tr', {}, ...block.header.map((cell) => element('th', { scope: 'col' }, ...toNodes(cell)))),
        ),
        element(
          'tbody',
          {},
          ...block.rows.map((row) => element('tr', {}, ...row.map((cell) => element('td', {}, ...toNodes(cell))))),
        ),
      )
    case 'rule':
      return element('hr')
  }
}

/**
 * @param {readonly Block[]} blocks
 * @returns {Node[]} the nodes of an item. A single paragraph has no element of its own, as in a tight list
 */
function toItemNodes(blocks) {
  const [first, ...others] = blocks
  if (first?.type !== 'paragraph') return blocks.map(toElement)
  return [...toNodes(first.children), ...others.map(toElement)]
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

/**
 * @param {readonly Inline[]} inlines
 * @returns {Node[]}
 */
function toNodes(inlines) {
  return inlines.map((inline) => {
    switch (inline.type) {
      case 'text':
        return document.createTextNode(toVisible(inline.text))
      case 'code':
        return element('code', {}, inline.text)
      case 'break':
        return element('br')
      case 'link': {
        const { href } = inline
        const attributes = { href, title: toVisible(href), rel: 'noopener noreferrer nofollow', target: '_blank' }
        return element('a', attributes, ...toNodes(inline.children))
      }
      case 'strong':
      case 'em':
      case 'del':
        return element(inline.type, {}, ...toNodes(inline.children))
    }
  })
}
