/** @import { PolicyList } from '../../api/policies.ts' */
import { ask } from './api.js'
import { element } from './dom.js'

const byAdministrator =
  'If an organization pays for Copilot, its administrator enables models: https://github.com/settings/copilot/features'

/**
 * Creates the dialog that shows GitHub's terms of a model and accepts them.
 * @param {() => void} onEnabled
 */
export function createModelDialog(onEnabled) {
  let id = ''
  const title = element('h3', { id: 'enable-title' })
  const terms = element('p', { class: 'terms' })
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const accept = element(
    'button',
    { type: 'button', class: 'primary', click: () => void enable() },
    'Accept and enable',
  )
  const cancel = element('button', { type: 'button', click: () => node.close() }, 'Cancel')
  const node = element(
    'dialog',
    { class: 'confirm', 'aria-labelledby': 'enable-title' },
    title,
    terms,
    failure,
    element('div', { class: 'buttons' }, accept, cancel),
  )

  /** @param {unknown} error */
  function fail(error) {
    failure.hidden = false
    failure.textContent = `${error instanceof Error ? error.message : String(error)} ${byAdministrator}`
  }

  async function enable() {
    accept.disabled = true
    accept.textContent = 'Enabling …'
    try {
      await ask('policies', { method: 'POST', body: { model: id } })
      node.close()
      onEnabled()
    } catch (error) {
      fail(error)
    } finally {
      accept.disabled = false
      accept.textContent = 'Accept and enable'
    }
  }

  return {
    node,
    /** @param {string} model */
    async show(model) {
      id = model
      title.textContent = `Enable ${model} for your account?`
      terms.textContent = 'Asking GitHub for its terms …'
      failure.hidden = true
      accept.disabled = true
      node.showModal()
      try {
        /** @type {PolicyList} */
        const { models } = await ask('policies')
        const found = models.find((each) => each.id === model)
        terms.textContent = found?.terms ?? 'GitHub states no terms for this model.'
        accept.disabled = false
      } catch (error) {
        terms.textContent = ''
        fail(error)
      }
    },
  }
}
