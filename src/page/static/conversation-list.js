/** @import { NewConversationInput } from '../../api/inputs.ts' */
/** @import { ConversationEntry } from '../../api/sessions.ts' */
import { announce } from './announce.js'
import { ask } from './api.js'
import { ownerHint } from './command-line.js'
import { createList, element } from './dom.js'
import { toVisible } from './visible-text.js'

/** The name of a conversation without a message. */
const untitled = 'New conversation'

/**
 * Shows the conversations of the open session below the list of sessions, and begins, renames and deletes them.
 * @param {object} page
 * @param {(session: string, conversation: string) => void} page.onChoose opens a conversation; '' if none is left
 * @param {(session: string, conversation: string) => void} page.onDelete
 */
export function createConversationList({ onChoose, onDelete }) {
  let session = ''
  let current = ''
  /** @type {readonly ConversationEntry[]} */
  let conversations = []
  /** Ids of the conversations in which an approval waits. @type {ReadonlySet<string>} */
  let waiting = new Set()
  const list = element('ul', { class: 'session-list conversation-list' })
  const updateList = createList(list, conversationLink)
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const rename = element('button', { type: 'button', class: 'quiet', click: askForTitle }, 'Rename')
  const remove = element('button', { type: 'button', class: 'quiet', click: () => removal.showModal() }, 'Delete')
  const node = element(
    'nav',
    { class: 'conversations', 'aria-label': 'Conversations' },
    element('h2', { class: 'label' }, 'Conversations'),
    list,
    element(
      'div',
      { class: 'buttons' },
      element(
        'button',
        { type: 'button', class: 'quiet', click: () => void attempt(async () => void (await begin({}))) },
        'New',
      ),
      rename,
      remove,
    ),
    failure,
  )
  const title = element('input', { id: 'conversation-title', required: true, maxlength: 200, autocomplete: 'off' })
  const renaming = element(
    'dialog',
    { class: 'confirm', 'aria-labelledby': 'rename-title' },
    element(
      'form',
      {
        submit: (/** @type {SubmitEvent} */ event) => {
          event.preventDefault()
          renaming.close()
          void attempt(() => changeTitle(title.value))
        },
      },
      element('h3', { id: 'rename-title' }, 'Rename the conversation'),
      element('label', { for: 'conversation-title' }, 'Title'),
      title,
      element(
        'div',
        { class: 'buttons' },
        element('button', { type: 'submit', class: 'primary' }, 'Rename'),
        element('button', { type: 'button', click: () => renaming.close() }, 'Cancel'),
      ),
    ),
  )
  const removal = element(
    'dialog',
    { class: 'confirm', 'aria-labelledby': 'remove-title' },
    element('h3', { id: 'remove-title' }, 'Delete this conversation?'),
    element('p', {}, 'This deletes its messages and runs. It changes no files.'),
    ownerHint('To delete it'),
    element(
      'div',
      { class: 'buttons' },
      element('button', { type: 'button', class: 'danger decision', click: () => void attempt(deleteIt) }, 'Delete'),
      element('button', { type: 'button', click: () => removal.close() }, 'Keep'),
    ),
  )

  const pathOf = (/** @type {string} */ id) =>
    `sessions/${encodeURIComponent(session)}/conversations/${encodeURIComponent(id)}`

  /** @param {() => Promise<void>} act */
  async function attempt(act) {
    failure.hidden = true
    try {
      await act()
    } catch (error) {
      failure.textContent = error instanceof Error ? error.message : String(error)
      failure.hidden = false
    }
  }

  /**
   * @param {NewConversationInput} fork
   * @returns {Promise<string>} the id of the new conversation
   */
  async function begin(fork) {
    /** @type {ConversationEntry} */
    const begun = await ask(`sessions/${encodeURIComponent(session)}/conversations`, { method: 'POST', body: fork })
    conversations = [begun, ...conversations]
    announce(begun.title || untitled)
    onChoose(session, begun.id)
    return begun.id
  }

  function askForTitle() {
    title.value = conversations.find(({ id }) => id === current)?.title ?? ''
    renaming.showModal()
    title.select()
  }

  /** @param {string} given */
  async function changeTitle(given) {
    await ask(pathOf(current), { method: 'PATCH', body: { title: given } })
    await read()
  }

  async function deleteIt() {
    removal.close()
    const deleted = current
    await ask(pathOf(deleted), { method: 'DELETE' })
    onDelete(session, deleted)
    await read()
    onChoose(session, conversations[0]?.id ?? '')
  }

  async function read() {
    const asked = session
    /** @type {{ conversations: readonly ConversationEntry[] }} */
    const answer = await ask(`sessions/${encodeURIComponent(asked)}/conversations`)
    // Another session may have been opened meanwhile.
    if (asked !== session) return
    ;({ conversations } = answer)
    render()
  }

  function render() {
    updateList(
      conversations.map(({ id, title: name }) => ({
        key: id,
        session,
        name: name || untitled,
        isCurrent: id === current,
        isWaiting: waiting.has(id),
      })),
    )
    const isThere = conversations.some(({ id }) => id === current)
    rename.hidden = !isThere
    remove.hidden = !isThere
  }

  return {
    node,
    dialogs: [renaming, removal],
    begin,
    /** @param {ReadonlySet<string>} ids */
    showWaiting(ids) {
      if (ids.size === 0 && waiting.size === 0) return
      waiting = ids
      render()
    },
    /** Reads the list again, e.g. after a message has given a title. */
    refresh: () => attempt(read),
    /**
     * @param {string} sessionId
     * @param {string} wanted
     * @returns {Promise<string>} the id of the wanted conversation, or of the one that was used last; '' without one
     */
    async open(sessionId, wanted) {
      const isOther = session !== sessionId
      session = sessionId
      current = wanted
      if (isOther) conversations = []
      if (isOther || !conversations.some(({ id }) => id === wanted)) await attempt(read)
      if (session !== sessionId || current !== wanted) return wanted
      current = conversations.find(({ id }) => id === wanted)?.id ?? conversations[0]?.id ?? ''
      render()
      return current
    },
  }
}

/**
 * @typedef {{ readonly key: string, readonly session: string, readonly name: string, readonly isCurrent: boolean, readonly isWaiting: boolean }} Link
 */

/** @param {Link} first */
function conversationLink(first) {
  const href = `#/sessions/${encodeURIComponent(first.session)}/${encodeURIComponent(first.key)}`
  const title = element('span')
  const state = element('span', { class: 'session-state' }, 'waits for you')
  const link = element('a', { href }, title, state)
  /** @param {Link} conversation */
  function update({ name, isCurrent, isWaiting }) {
    title.textContent = toVisible(name)
    state.hidden = !isWaiting
    link.dataset['tone'] = isWaiting ? 'waiting' : 'idle'
    if (isCurrent) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  update(first)
  return { node: element('li', {}, link), update }
}
