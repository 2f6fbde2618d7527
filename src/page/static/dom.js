import { toVisible } from './visible-text.js'

/**
 * @typedef {Node | string | undefined | false} Child
 * @typedef {Readonly<Record<string, string | number | boolean | undefined | ((event: any) => void)>>} Attributes
 */

/**
 * Creates an element. Strings become text nodes, so no text is parsed as HTML, and show their hidden characters.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] functions become listeners: `{ click: … }`; `true` sets an attribute without a value;
 *   `false` and undefined omit it
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  setAttributes(made, attributes)
  append(made, children)
  return made
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
  setAttributes(made, attributes)
  append(made, children)
  return made
}

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') target.addEventListener(name, value)
    else if (value !== undefined && value !== false) target.setAttribute(name, value === true ? '' : String(value))
  }
}

/**
 * @param {Element} target
 * @param {readonly Child[]} children
 */
function append(target, children) {
  for (const child of children) {
    if (child !== undefined && child !== false) target.append(typeof child === 'string' ? toVisible(child) : child)
  }
}

/**
 * Replaces the children of a node. A focus among them goes to the new control of the same name, or else to the node itself, so
 * that the Tab key goes on from there.
 * @param {HTMLElement} parent
 * @param {readonly Child[]} children
 * @param {boolean} [hadFocus] for a button that lost the focus because it was disabled
 */
export function replaceChildren(parent, children, hadFocus = parent.contains(document.activeElement)) {
  const name = nameOf(document.activeElement)
  parent.replaceChildren()
  append(parent, children)
  if (!hadFocus) return
  /** @type {NodeListOf<HTMLElement>} */
  const controls = parent.querySelectorAll('button, a[href]')
  const control = [...controls].find((each) => nameOf(each) === name && each.checkVisibility())
  if (control === undefined) parent.tabIndex = -1
  ;(control ?? parent).focus({ preventScroll: true })
}

/** @param {Element | null} node */
function nameOf(node) {
  return node?.getAttribute('aria-label') ?? node?.textContent
}

/**
 * @template Item
 * @typedef {object} View
 * @property {HTMLElement} node
 * @property {(item: Item) => void} [update] absent if the item never changes
 */

/**
 * Shows a list of items. Later calls update only changed items, so that nodes keep their focus, selection and open details.
 * @template {{ readonly key: string }} Item
 * @param {HTMLElement} parent must have no other children
 * @param {(item: Item) => View<Item>} create
 * @returns {(items: readonly Item[]) => void}
 */
export function createList(parent, create) {
  /** @type {Map<string, { view: View<Item>, item: Item }>} */
  let shown = new Map()
  return (items) => {
    /** @type {typeof shown} */
    const next = new Map()
    let at = 0
    for (const item of items) {
      if (next.has(item.key)) continue
      const entry = shown.get(item.key) ?? { view: create(item), item }
      if (entry.item !== item) entry.view.update?.(item)
      entry.item = item
      next.set(item.key, entry)
      const { node } = entry.view
      if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null)
      at += 1
    }
    while (parent.children.length > at) parent.lastElementChild?.remove()
    shown = next
  }
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`The page has no element "${id}".`)
  return found
}
