/** @import { ChangeEntry, ChangeList } from '../../api/changes.ts' */
import { ask } from './api.js'
import { countsView, diffView } from './diff-view.js'
import { element } from './dom.js'
import { toDateTime } from './format.js'
import { toVisible } from './visible-text.js'

/** @typedef {(kind: 'changes' | 'runs', id: string) => Promise<void>} ShowUndo */

/**
 * The changes of a run that has ended: a button for all of them, and one for each.
 * @param {string} run
 * @param {readonly ChangeEntry[]} changes
 * @param {ShowUndo} showUndo
 */
export function runChangesView(run, changes, showUndo) {
  const isUndone = changes.every(({ undoneBy, undoes }) => undoneBy !== undefined || undoes !== undefined)
  return element(
    'div',
    { class: 'run-changes' },
    isUndone
      ? element('span', { class: 'tag' }, 'undone')
      : element('button', { type: 'button', class: 'quiet', click: () => void showUndo('runs', run) }, 'Undo run'),
    element('details', {}, element('summary', {}, 'Changes'), changeList(changes, showUndo)),
  )
}

/**
 * @param {readonly ChangeEntry[]} changes
 * @param {ShowUndo} showUndo
 */
function changeList(changes, showUndo) {
  return element('ul', { class: 'files', 'aria-label': 'Changes' }, ...changes.map((change) => row(change, showUndo)))
}

/**
 * @param {ChangeEntry} change
 * @param {ShowUndo} showUndo
 */
function row({ id, time, files, undoes, undoneBy }, showUndo) {
  const names = files.map(({ path }) => toVisible(path)).join(', ')
  return element(
    'li',
    {},
    element('code', {}, names),
    element('time', { datetime: time }, toDateTime(time)),
    undoes !== undefined && element('span', { class: 'tag' }, 'an undo'),
    undoneBy === undefined
      ? element(
          'button',
          { type: 'button', class: 'quiet', 'aria-label': `Undo ${names}`, click: () => void showUndo('changes', id) },
          'Undo',
        )
      : element('span', { class: 'tag' }, 'undone'),
  )
}

/**
 * Creates the dialog with what all changes of a session have done together.
 * @param {ShowUndo} showUndo
 */
export function createChangesDialog(showUndo) {
  const body = element('div', { class: 'request-body', tabindex: 0, role: 'region', 'aria-label': 'Changes' })
  const close = element('button', { type: 'button', class: 'quiet', click: () => node.close() }, 'Close')
  const node = element(
    'dialog',
    { class: 'request', 'aria-labelledby': 'changes-title' },
    element('header', {}, element('h2', { id: 'changes-title' }, 'Changes'), close),
    body,
  )

  /** @param {ChangeList} list */
  function contentOf({ changes, files = [], truncated }) {
    if (changes.length === 0) return [element('p', { class: 'muted' }, 'No tool has changed a file here yet.')]
    return [
      element(
        'p',
        { class: 'muted' },
        files.length === 0 ? 'All files are as they were before the first change.' : 'All changes together:',
      ),
      ...files.map(({ path, change, added, removed, diff }) =>
        diff === ''
          ? element(
              'p',
              {},
              element('code', {}, toVisible(path)),
              element('span', { class: 'tag' }, change),
              countsView(added, removed),
            )
          : diffView(diff),
      ),
      truncated === true && element('p', { class: 'failure' }, 'Some differences are too long or no longer stored.'),
      element('h3', {}, 'One by one, the newest first'),
      changeList(changes.toReversed(), showUndo),
    ].filter((part) => part !== false)
  }

  /** @param {string} sessionId */
  async function read(sessionId) {
    try {
      body.replaceChildren(...contentOf(await ask(`sessions/${encodeURIComponent(sessionId)}/changes`)))
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      body.replaceChildren(element('p', { class: 'failure', role: 'alert' }, message))
    }
  }

  return {
    node,
    /** @param {string} sessionId */
    async show(sessionId) {
      body.replaceChildren(element('p', { class: 'muted' }, 'Loading …'))
      node.showModal()
      await read(sessionId)
    },
    /** Reads an open dialog again. @param {string} sessionId */
    async refresh(sessionId) {
      if (node.open) await read(sessionId)
    },
  }
}
