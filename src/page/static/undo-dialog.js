/** @import { UndoReport } from '../../api/changes.ts' */
import { announce } from './announce.js'
import { ask } from './api.js'
import { ownerHint } from './command-line.js'
import { diffView } from './diff-view.js'
import { element } from './dom.js'
import { plural } from './format.js'
import { toVisible } from './visible-text.js'

/**
 * Creates the dialog that shows what comes back before a change or a run is undone.
 * @param {() => Promise<void>} onUndone
 */
export function createUndoDialog(onUndone) {
  const title = element('h2', { id: 'undo-title' })
  const body = element('div', { class: 'request-body', tabindex: 0, role: 'region', 'aria-label': 'What comes back' })
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const confirm = element(
    'button',
    { type: 'button', class: 'danger decision', disabled: true, click: () => void undo() },
    'Undo',
  )
  const keep = element('button', { type: 'button', click: () => node.close() }, 'Keep')
  const node = element(
    'dialog',
    { class: 'request undo', 'aria-labelledby': 'undo-title' },
    element('header', {}, title),
    body,
    failure,
    ownerHint('To undo it'),
    element('div', { class: 'buttons' }, confirm, keep),
  )
  let path = ''

  /** @param {boolean} dryRun @returns {Promise<UndoReport>} */
  function send(dryRun) {
    return ask(path, { method: 'POST', body: { dryRun } })
  }

  /** @param {unknown} error */
  function fail(error) {
    failure.textContent = toVisible(error instanceof Error ? error.message : String(error))
    failure.hidden = false
  }

  async function undo() {
    confirm.disabled = true
    failure.hidden = true
    try {
      const { files } = await send(false)
      node.close()
      announce(`Undone. ${plural(files.length, 'file')} restored.`)
      await onUndone()
    } catch (error) {
      fail(error)
    }
  }

  return {
    node,
    /**
     * @param {'changes' | 'runs'} kind
     * @param {string} id
     */
    async show(kind, id) {
      path = `${kind}/${encodeURIComponent(id)}/undo`
      const asked = path
      title.textContent = kind === 'runs' ? 'Undo all changes of this run?' : 'Undo this change?'
      confirm.disabled = true
      failure.hidden = true
      body.replaceChildren(element('p', { class: 'muted' }, 'Loading …'))
      node.showModal()
      try {
        const { diff = '', files, truncated } = await send(true)
        if (asked !== path) return
        body.replaceChildren(
          element('p', {}, `This restores ${plural(files.length, 'file')}:`),
          diffView(diff),
          ...(truncated === true ? [element('p', { class: 'failure' }, 'Not all of it is shown.')] : []),
        )
        confirm.disabled = false
      } catch (error) {
        if (asked !== path) return
        body.replaceChildren()
        fail(error)
      }
    },
  }
}
