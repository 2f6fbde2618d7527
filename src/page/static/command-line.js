import { copyButton } from './copy-button.js'
import { element } from './dom.js'

/**
 * A command or another text to copy.
 * @param {string} text
 */
export function commandLine(text) {
  return element(
    'span',
    { class: 'command-line' },
    element('code', { tabindex: 0 }, text),
    copyButton(() => text, `Copy: ${text}`),
  )
}

/**
 * What the owner does with a button, and everybody else with a command. page.css shows one of them, by what the daemon says
 * about the caller.
 * @param {Node} button
 * @param {string} command
 */
export function ownerAction(button, command) {
  return element(
    'div',
    { class: 'owner-action' },
    element('div', { class: 'for-owner' }, button),
    element('div', { class: 'for-others' }, commandLine(command)),
  )
}

/**
 * The command for a page that the daemon lets decide nothing; page.css hides it from others. What such a page may not do has the
 * class `decision`.
 * @param {string} purpose
 */
export function ownerHint(purpose) {
  return element('div', { class: 'owner-hint' }, `${purpose}, open this page with: `, commandLine('copilot-proxy page'))
}
