import { ask, key } from './api.js'
import { element } from './dom.js'

/**
 * Asks for an API key. Resolves after the daemon has accepted one, which is kept in this tab.
 * @param {HTMLElement} parent
 * @param {string} [reason]
 * @returns {Promise<void>}
 */
export function signIn(parent, reason = '') {
  return new Promise((resolve) => {
    const input = element('input', {
      id: 'key',
      type: 'password',
      autocomplete: 'off',
      required: true,
      spellcheck: 'false',
    })
    const failure = element('p', { class: 'failure', role: 'alert', hidden: reason === '' }, reason)
    const button = element('button', { type: 'submit', class: 'primary' }, 'Continue')
    const form = element(
      'form',
      { class: 'sign-in', submit: (/** @type {SubmitEvent} */ event) => void onSubmit(event) },
      element('h2', {}, 'Key required'),
      element(
        'p',
        {},
        'This copilot-proxy requires a key (server.api-keys). To create one, run: ',
        element('code', {}, 'copilot-proxy key add'),
        '. To open this page without one, run: ',
        element('code', {}, 'copilot-proxy page'),
      ),
      element('label', { for: 'key' }, 'Key'),
      input,
      failure,
      button,
      element(
        'p',
        { class: 'muted' },
        'The key stays in this tab until you close it, and is sent to this copilot-proxy only.',
      ),
    )
    parent.replaceChildren(form)
    input.focus()

    /** @param {SubmitEvent} event */
    async function onSubmit(event) {
      event.preventDefault()
      button.disabled = true
      key.set(input.value.trim())
      try {
        await ask('caller')
        resolve()
      } catch (error) {
        key.forget()
        failure.textContent = error instanceof Error ? error.message : String(error)
        failure.hidden = false
        input.select()
      } finally {
        button.disabled = false
      }
    }
  })
}
