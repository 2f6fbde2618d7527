import { ApiError } from './api.js'
import { element } from './dom.js'

/**
 * A view of the page: what the navigation shows.
 * @typedef {object} View
 * @property {HTMLElement} node
 * @property {string} title
 * @property {(id: string, part: string) => void} show begins to read; `id` and `part` are the parts of the address after the view's name
 * @property {() => void} hide
 * @property {() => Promise<void>} refresh
 */

/**
 * @typedef {object} ViewOptions
 * @property {string} title
 * @property {string} [lead] a sentence below the title
 * @property {() => Promise<void>} read reads from the daemon and shows it
 * @property {() => number} everyMs the delay until the next read; Infinity: none
 * @property {(error: unknown) => void} onFailure gets each failure of a read
 * @property {string} [name] a class of the view
 */

/**
 * Creates a view that reads from the daemon again and again while it is shown. Its content is hidden until the first answer.
 * @param {ViewOptions} options
 * @param {...(Node | false)} children
 */
export function createView({ title, lead, read, everyMs, onFailure, name = '' }, ...children) {
  let isShown = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const loading = element('p', { class: 'empty' }, 'Loading …')
  const content = element('div', { class: 'view-content', hidden: true }, ...children)
  const node = element(
    'div',
    { class: `view ${name}` },
    element('header', {}, element('h2', {}, title), lead !== undefined && element('p', { class: 'muted' }, lead)),
    failure,
    loading,
    content,
  )

  /** @param {unknown} error '' hides the last one */
  function fail(error) {
    failure.hidden = error === ''
    failure.textContent = error instanceof Error ? error.message : String(error)
  }

  async function refresh() {
    clearTimeout(timer)
    if (!isShown) return
    try {
      if (document.visibilityState === 'visible' || content.hidden) {
        await read()
        content.hidden = false
        loading.hidden = true
        fail('')
      }
    } catch (error) {
      // Without an answer, the page shows one sentence above all views.
      if (!(error instanceof ApiError && error.status === 0)) fail(error)
      onFailure(error)
    }
    clearTimeout(timer)
    const delayMs = everyMs()
    if (isShown && delayMs < Infinity) timer = setTimeout(() => void refresh(), delayMs)
  }

  return {
    node,
    title,
    fail,
    refresh,
    show() {
      if (isShown) return
      isShown = true
      void refresh()
    },
    hide() {
      isShown = false
      clearTimeout(timer)
    },
  }
}

/**
 * A choice of one of a few, as a row of buttons.
 * @template {string} Value
 * @param {string} label
 * @param {readonly (readonly [Value, string])[]} choices
 * @param {(value: Value) => void} onChange
 */
export function segmented(label, choices, onChange) {
  const name = `choice-${label.toLowerCase().replaceAll(/\W+/g, '-')}`
  return element(
    'fieldset',
    { class: 'segmented' },
    element('legend', { class: 'visually-hidden' }, label),
    ...choices.map(([value, text], at) =>
      element(
        'label',
        {},
        element('input', { type: 'radio', name, value, checked: at === 0, change: () => onChange(value) }),
        element('span', {}, text),
      ),
    ),
  )
}

/**
 * @param {string} caption for screen readers
 * @param {readonly (readonly [name: string, kind?: 'number'])[]} columns
 * @param {HTMLElement} body
 * @param {string} [className]
 */
export function dataTable(caption, columns, body, className = '') {
  return element(
    'div',
    { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': caption },
    element(
      'table',
      { class: `data ${className}` },
      element('caption', { class: 'visually-hidden' }, caption),
      element(
        'thead',
        {},
        element('tr', {}, ...columns.map(([name, kind]) => element('th', { scope: 'col', class: kind }, name))),
      ),
      body,
    ),
  )
}
