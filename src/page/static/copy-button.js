import { announce } from './announce.js'
import { element } from './dom.js'

/**
 * @param {() => string} text
 * @param {string} label for screen readers
 */
export function copyButton(text, label) {
  const button = element(
    'button',
    { type: 'button', class: 'copy', 'aria-label': label, click: () => void copy() },
    'Copy',
  )
  async function copy() {
    try {
      await navigator.clipboard.writeText(text())
      button.textContent = 'Copied'
      announce('Copied.')
    } catch {
      // Browsers allow the clipboard only on HTTPS and loopback.
      button.textContent = 'Not allowed'
      announce('The browser did not allow copying.')
    }
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  }
  return button
}
