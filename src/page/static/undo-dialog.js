/** @import { RewindReport, UndoReport } from '../../api/changes.ts' */
import { announce } from './announce.js'
import { ask } from './api.js'
import { ownerHint } from './command-line.js'
import { diffView } from './diff-view.js'
import { element } from './dom.js'
import { plural } from './format.js'
import { toVisible } from './visible-text.js'

/**
 * What the dialog asks for.
 * @typedef {object} Question
 * @property {string} path
 * @property {object} [body]
 * @property {string} title
 * @property {string} action the name of the button
 * @property {boolean} [isRewind] whether a conversation goes back too, with its files or without
 * @property {(report: UndoReport & RewindReport) => Promise<void>} [afterwards]
 */

/**
 * Creates the dialog that shows what comes back before something is undone.
 * @param {() => Promise<void>} onUndone
 */
export function createUndoDialog(onUndone) {
  const title = element('h2', { id: 'undo-title' })
  const body = element('div', { class: 'request-body', tabindex: 0, role: 'region', 'aria-label': 'What comes back' })
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const files = element('input', { type: 'checkbox', checked: true, change: () => void preview() })
  const withFiles = element('label', { class: 'check' }, files, ' Restore the files too')
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
    withFiles,
    body,
    failure,
    ownerHint('To undo it'),
    element('div', { class: 'buttons' }, confirm, keep),
  )
  /** @type {Question} */
  let asked = { path: '', title: '', action: '' }
  /** Counts the previews: an answer that comes late is of an earlier one. */
  let previews = 0

  /** @param {boolean} dryRun @returns {Promise<UndoReport & RewindReport>} */
  function send(dryRun) {
    const wanted = asked.isRewind === true ? { files: files.checked } : {}
    return ask(asked.path, { method: 'POST', body: { ...asked.body, ...wanted, dryRun } })
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
      const report = await send(false)
      node.close()
      announce(`Undone. ${plural(filesOf(report).length, 'file')} restored.`)
      await onUndone()
      await asked.afterwards?.(report)
    } catch (error) {
      fail(error)
    }
  }

  async function preview() {
    const number = (previews += 1)
    confirm.disabled = true
    failure.hidden = true
    body.replaceChildren(element('p', { class: 'muted' }, 'Loading …'))
    try {
      const report = await send(true)
      if (number !== previews) return
      body.replaceChildren(...previewOf(report, asked.isRewind === true))
      confirm.disabled = false
    } catch (error) {
      if (number !== previews) return
      body.replaceChildren()
      fail(error)
    }
  }

  /** @param {Question} question */
  async function open(question) {
    asked = question
    title.textContent = question.title
    confirm.textContent = question.action
    withFiles.hidden = question.isRewind !== true
    files.checked = true
    node.showModal()
    await preview()
  }

  return {
    node,
    /**
     * @param {'changes' | 'runs'} kind
     * @param {string} id
     */
    show: (kind, id) =>
      open({
        path: `${kind}/${encodeURIComponent(id)}/undo`,
        title: kind === 'runs' ? 'Undo all changes of this run?' : 'Undo this change?',
        action: 'Undo',
      }),
    /**
     * Asks whether a conversation goes back to before a message.
     * @param {string} session
     * @param {string} conversation
     * @param {string} messageId
     * @param {(report: RewindReport) => Promise<void>} afterwards
     */
    showRewind: (session, conversation, messageId, afterwards) =>
      open({
        path: `sessions/${encodeURIComponent(session)}/conversations/${encodeURIComponent(conversation)}/rewind`,
        body: { messageId },
        title: 'Go back to before this message?',
        action: 'Go back',
        isRewind: true,
        afterwards,
      }),
  }
}

/** @param {UndoReport & RewindReport} report */
function filesOf({ files, undo }) {
  return files ?? undo?.files ?? []
}

/**
 * @param {UndoReport & RewindReport} report
 * @param {boolean} isRewind
 */
function previewOf(report, isRewind) {
  const { diff = '', truncated } = isRewind ? { ...report.undo } : report
  const files = filesOf(report)
  const left = isRewind ? `${plural(report.messages.length, 'message')} will be deleted, with the answers. ` : ''
  const restored =
    isRewind && files.length === 0 ? 'No file changes.' : `This restores ${plural(files.length, 'file')}:`
  return [
    element('p', {}, left + restored),
    ...(diff === '' ? [] : [diffView(diff)]),
    ...(truncated === true ? [element('p', { class: 'failure' }, 'Not all of it is shown.')] : []),
  ]
}
