import { announce } from './announce.js'
import { element } from './dom.js'

/**
 * @param {() => string} text
 * @param {string} label for screen readers; begins with `Copy`
 */
export function copyButton(text, label) {
  const button = element(
    'button',
    { type: 'button', class: 'copy', 'aria-label': label, click: () => void copy() },
    'Copy',
  )
  /** @param {string} word also the begin of the label, so that both say the same */
  function show(word) {
    button.textContent = word
    button.setAttribute('aria-label', label.replace(/^Copy/, word))
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(text())
      show('Copied')
      announce('Copied.')
    } catch {
      // Browsers allow the clipboard only on HTTPS and loopback.
      show('Not allowed')
      announce('The browser did not allow copying.')
    }
    setTimeout(() => show('Copy'), 1500)
  }
  return button
}
