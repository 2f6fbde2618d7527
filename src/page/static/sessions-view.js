/** @import { SessionEntry } from '../../api/sessions.ts' */
/** @import { RunItem } from '../timeline.ts' */
/** @import { MessageInput } from '../../api/inputs.ts' */
import { ask } from './api.js'
import { announce } from './announce.js'
import { createChangesDialog } from './changes-view.js'
import { createComposer } from './composer.js'
import { ownerHint } from './command-line.js'
import { createConversationList } from './conversation-list.js'
import { createList, element } from './dom.js'
import { pendingApprovals } from './fold-events.js'
import { plural, toCount, toCredits } from './format.js'
import { createItemView } from './run-view.js'
import { createSessionDialog } from './session-dialog.js'
import { fileSource, promptSource } from './suggestions.js'
import { createUndoDialog } from './undo-dialog.js'
import { toVisible } from './visible-text.js'

/** If the view is this close to the end, it scrolls to new content. Pixels. */
const nearEnd = 80

/**
 * @typedef {ReturnType<typeof import('./session-store.js').createSessionStore>} SessionStore
 */

/**
 * Shows the sessions at the left, the stream of one session, and the form for a message.
 * @param {SessionStore} store
 * @param {(session: string, conversation: string) => void} onChoose opens a conversation; '' is the one that was used last
 */
export function createSessionsView(store, onChoose) {
  const list = element('ul', { class: 'session-list' })
  const updateList = createList(list, sessionLink)
  const title = element('h2', { tabindex: -1 })
  const path = element('span', { class: 'path' })
  const unsandboxed = element('span', { class: 'tag warn', hidden: true }, 'no sandbox')
  const clear = element('button', { type: 'button', class: 'quiet', click: () => dialog.showModal() }, 'Clear history')
  const about = createSessionDialog()
  const undo = createUndoDialog(async () => {
    await store.readChanges(current)
    await changes.refresh(current)
  })
  const changes = createChangesDialog((kind, id) => undo.show(kind, id))
  const openChanges = element(
    'button',
    { type: 'button', class: 'quiet', click: () => void changes.show(current) },
    'Changes',
  )
  const details = element('button', { type: 'button', class: 'quiet', click: showDetails }, 'Details')
  const stream = element('div', { class: 'stream' })
  const empty = element('p', { class: 'empty' })
  const scroller = element(
    'section',
    { class: 'scroller', 'aria-label': 'Messages', tabindex: 0, scroll: onScroll },
    empty,
    stream,
  )
  const toEnd = element(
    'button',
    { type: 'button', class: 'to-end', hidden: true, click: scrollToEnd },
    'New messages ↓',
  )
  const review = element('button', { type: 'button', class: 'primary', click: () => focusApproval() }, 'Review')
  const waitingText = element('span')
  const waiting = element('div', { class: 'waiting', hidden: true }, waitingText, review)
  const usage = element('p', { class: 'usage-line' })
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const composer = createComposer(sendMessage, [
    promptSource(() => ask(`sessions/${encodeURIComponent(current)}/prompts`)),
    fileSource(() => ask(`sessions/${encodeURIComponent(current)}/files`)),
  ])
  const dialog = confirmDialog()
  const conversations = createConversationList({
    onChoose,
    onDelete: (...deleted) => store.forgetConversation(...deleted),
  })
  const content = element(
    'div',
    { class: 'session' },
    element(
      'header',
      { class: 'session-head' },
      element('div', {}, title, element('p', { class: 'muted' }, path, ' ', unsandboxed)),
      element('div', { class: 'buttons' }, openChanges, details, clear),
    ),
    failure,
    scroller,
    element('div', { class: 'stream-end' }, toEnd),
    waiting,
    composer.node,
    usage,
    dialog,
    about.node,
    changes.node,
    undo.node,
  )
  const node = element(
    'div',
    { class: 'sessions' },
    element(
      'div',
      { class: 'side' },
      element('nav', { 'aria-label': 'Sessions' }, element('h2', { class: 'label' }, 'Sessions'), list),
      conversations.node,
    ),
    content,
    ...conversations.dialogs,
  )

  let current = ''
  /** '' while the session has none. */
  let conversation = ''
  let updateStream = newStream()

  function newStream() {
    stream.replaceChildren()
    return createList(
      stream,
      createItemView({
        cancel: async (id) => {
          await ask(`runs/${encodeURIComponent(id)}/cancel`, { method: 'POST' })
        },
        recall: (id) => store.readRun(id, current),
        showUndo: (kind, id) => undo.show(kind, id),
        async rewind({ key, conversationId }) {
          const session = current
          await undo.showRewind(session, conversationId || conversation, key, async ({ messages, text, mode }) => {
            store.forgetRuns(session, messages)
            composer.edit({ text, mode })
          })
        },
        async retry(run) {
          const { text, mode } = run
          await forkBefore(run)
          const model = composer.model()
          await sendMessage({ text, mode, ...(model !== '' && { model }) })
        },
        async edit(run) {
          await forkBefore(run)
          composer.edit(run)
        },
      }),
    )
  }

  /**
   * Opens a conversation with the messages before one of the shown ones.
   * @param {RunItem} run
   */
  async function forkBefore(run) {
    const runs = shownItems().filter((item) => item.kind === 'run')
    const before = runs[runs.findIndex(({ key }) => key === run.key) - 1]
    const session = current
    const fork = await conversations.begin(before === undefined ? {} : { forkOf: conversation, until: before.key })
    await openConversation(session, fork)
  }

  /** @param {MessageInput} message */
  async function sendMessage(message) {
    const [session, isFirst] = [current, conversation === '']
    /** @type {{ conversationId?: string } | null} */
    const accepted = await ask('message', {
      method: 'POST',
      body: { ...message, sessionId: session, ...(!isFirst && { conversationId: conversation }) },
    })
    if (isFirst && accepted?.conversationId !== undefined) onChoose(session, accepted.conversationId)
    scrollToEnd()
  }

  function confirmDialog() {
    const made = element(
      'dialog',
      { class: 'confirm', 'aria-labelledby': 'clear-title' },
      element('h3', { id: 'clear-title' }, 'Clear the history of this session?'),
      element('p', {}, 'This deletes its messages, runs and streams. It changes no files.'),
      ownerHint('To delete it'),
      element(
        'div',
        { class: 'buttons' },
        element('button', { type: 'button', class: 'danger decision', click: () => void clearHistory() }, 'Delete'),
        element('button', { type: 'button', click: () => made.close() }, 'Keep'),
      ),
    )
    return made
  }

  function showDetails() {
    const session = store.sessions().find(({ id }) => id === current)
    if (session !== undefined) void about.show(session)
  }

  async function clearHistory() {
    dialog.close()
    try {
      await ask(`sessions/${encodeURIComponent(current)}/history`, { method: 'DELETE' })
      store.forgetHistory(current)
      onChoose(current, '')
      fail('')
    } catch (error) {
      fail(error)
    }
  }

  /** @param {unknown} error '' hides the last error */
  function fail(error) {
    failure.hidden = error === ''
    failure.textContent = error instanceof Error ? error.message : String(error)
  }

  /** Runs from before there were conversations have none. */
  function shownItems() {
    const { items } = store.timelineOf(current)
    if (conversation === '') return items
    return items.filter((item) => item.kind !== 'run' || ['', conversation].includes(item.conversationId))
  }

  function isAtEnd() {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd
  }

  function onScroll() {
    if (isAtEnd()) toEnd.hidden = true
  }

  function scrollToEnd() {
    scroller.scrollTop = scroller.scrollHeight
    toEnd.hidden = true
  }

  function focusApproval() {
    const [next] = pendingApprovals({ items: shownItems() })
    if (next === undefined) return
    const target = stream.querySelector(`[data-approval="${CSS.escape(next.approval.approvalId)}"]`)
    if (!(target instanceof HTMLElement)) return
    target.scrollIntoView({ block: 'nearest' })
    target.focus({ preventScroll: true })
  }

  function render() {
    const sessions = store.sessions()
    updateList(sessions.map((session) => toLink(session, store, current)))
    const session = sessions.find(({ id }) => id === current)
    content.hidden = session === undefined
    if (session === undefined) return
    title.textContent = toVisible(session.name)
    path.textContent = session.path
    path.title = plural(session.tools.length, 'tool')
    unsandboxed.hidden = session.sandbox.holds !== 'none'
    unsandboxed.title = session.sandbox.description
    const waitingIn = pendingApprovals(store.timelineOf(current)).map(({ run }) => run.conversationId)
    conversations.showWaiting(new Set(waitingIn))
    const items = shownItems()
    const follows = isAtEnd()
    updateStream(items)
    empty.hidden = items.length > 0
    empty.textContent =
      'No messages yet. A chat only reads files. The agent can also change files and run commands, and asks first. With Plan, it asks you to accept a plan before anything else.'
    clear.hidden = items.length === 0
    if (follows) scrollToEnd()
    else if (items.some((item) => item.kind === 'run' && item.end === undefined)) toEnd.hidden = false
    const pending = pendingApprovals({ items })
    waiting.hidden = pending.length === 0
    waitingText.textContent = `${plural(pending.length, 'approval')} waiting`
    usage.textContent = toUsageLine(items.filter((item) => item.kind === 'run'))
  }

  /**
   * @param {string} session
   * @param {string} wanted
   */
  async function openConversation(session, wanted) {
    const found = await conversations.open(session, wanted)
    if (session !== current) return
    if (found !== wanted) return onChoose(session, found)
    conversation = found
    fail('')
    updateStream = newStream()
    render()
    scrollToEnd()
    await store.openHistory(session, found).catch(fail)
  }

  return {
    node,
    render,
    composer,
    /**
     * @param {string} id
     * @param {string} wanted the id of a conversation
     * @returns {boolean} whether the session exists
     */
    open(id, wanted) {
      const found = store.sessions().find((session) => session.id === id)
      if (found === undefined) return false
      if (current !== id) {
        conversation = wanted
        current = id
        announce(`Session ${found.name}`)
      }
      void openConversation(id, wanted)
      return true
    },
    /** @param {string} session in which a message has come */
    noteMessage(session) {
      if (session === current) void conversations.refresh()
    },
  }
}

/**
 * @typedef {{ readonly key: string, readonly name: string, readonly state: string, readonly tone: string, readonly isCurrent: boolean }} SessionLink
 */

/**
 * @param {SessionEntry} session
 * @param {SessionStore} store
 * @param {string} current
 * @returns {SessionLink}
 */
function toLink({ id, name }, store, current) {
  const timeline = store.timelineOf(id)
  const waiting = pendingApprovals(timeline).length
  const running = timeline.items.filter((item) => item.kind === 'run' && item.end === undefined)
  const step = running
    .flatMap((run) => (run.kind === 'run' ? run.parts : []))
    .findLast((part) => part.kind === 'text' && part.fragment === 'step')
  const stepText = step?.kind === 'text' ? step.text.toLowerCase() : 'running'
  const [state, tone] =
    waiting > 0 ? ['waits for you', 'waiting'] : running.length > 0 ? [stepText, 'running'] : ['idle', 'idle']
  return { key: id, name, state, tone, isCurrent: id === current }
}

/** @param {SessionLink} first */
function sessionLink(first) {
  const name = element('span', { class: 'session-name' })
  const state = element('span', { class: 'session-state' })
  const link = element('a', { href: `#/sessions/${encodeURIComponent(first.key)}` }, name, state)
  /** @param {SessionLink} session */
  function update(session) {
    name.textContent = toVisible(session.name)
    state.textContent = session.state
    link.dataset['tone'] = session.tone
    if (session.isCurrent) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  update(first)
  return { node: element('li', {}, link), update }
}

/** @param {readonly RunItem[]} runs */
function toUsageLine(runs) {
  let requests = 0
  let input = 0
  let output = 0
  let credits = 0
  for (const { end } of runs) {
    requests += end?.requests ?? 0
    input += end?.usage?.inputTokens ?? 0
    output += end?.usage?.outputTokens ?? 0
    credits += end?.usage?.credits ?? 0
  }
  if (requests === 0 && input === 0) return 'Enter sends, Shift+Enter starts a new line.'
  const cost = credits > 0 ? ` · ${toCredits(credits)} credits` : ''
  return `Shown here: ${plural(requests, 'request')} · ${toCount(input)} tokens in, ${toCount(output)} out${cost}`
}
