/** @import { DaemonEvent } from '../../api/events.ts' */
/** @import { View } from './view.js' */
import { announce } from './announce.js'
import { ask } from './api.js'
import { isAcceptedPlan } from './approval-words.js'
import { element } from './dom.js'
import { followEvents } from './follow-events.js'
import { notify, offerNotifications } from './notifications.js'
import { toOutcomeText } from './run-view.js'
import { createSessionStore } from './session-store.js'
import { createSessionsView } from './sessions-view.js'

/*
 * The part of the page for sessions. main.js loads it when there is a workspace.
 */

/** Older events cause no notification, because they happened before the page was opened. Ms. */
const presentMs = 10_000

/**
 * Follows the events of all sessions and shows one of them.
 * @param {object} page
 * @param {(error: unknown) => void} page.onFailure
 * @param {(state: import('./follow-events.js').ConnectionState) => void} page.onState
 * @param {(error: import('./api.js').ApiError) => void} page.onRefused
 * @returns {View & { readonly start: () => Promise<void>, readonly stop: () => void }}
 */
export function createSessions({ onFailure, onState, onRefused }) {
  let isDrawing = false
  const store = createSessionStore({ onChange: scheduleRender, onEvent: tellOf })
  const view = createSessionsView(store, choose)
  const node = element('div', { class: 'sessions-root' })
  /** Id of the session that was open last. */
  let lastSession = ''
  let title = 'Sessions'
  /** @type {(() => void) | undefined} */
  let stopFollowing
  offerNotifications()

  /**
   * Opens a conversation in place of the one that the address names.
   * @param {string} session
   * @param {string} conversation
   */
  function choose(session, conversation) {
    const href = addressOf(session, conversation)
    if (location.hash !== href) history.replaceState(null, '', href)
    view.open(session, conversation)
  }

  /** Renders once per frame, however many events arrive. */
  function scheduleRender() {
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(() => {
      isDrawing = false
      view.render()
    })
  }

  /** @param {DaemonEvent} event */
  function tellOf(event) {
    if (event.type === 'gap' || Math.abs(Date.now() - Date.parse(event.time)) > presentMs) return
    const name = store.sessions().find(({ id }) => id === event.sessionId)?.name ?? 'A session'
    const conversation = ('conversationId' in event && event.conversationId) || ''
    const href = addressOf(event.sessionId, conversation)
    // An event outside of runs is of all conversations.
    const isHere = location.hash === href || (conversation === '' && location.hash.startsWith(`${href}/`))
    const isLookedAt = isHere && document.visibilityState === 'visible'
    if (event.type === 'inbound') view.noteMessage(event.sessionId)
    if (event.type === 'approval' && isHere && isAcceptedPlan(event)) view.composer.endPlan()
    const tell = (/** @type {string} */ about, /** @type {string} */ text) => {
      if (isLookedAt) announce(`${about}. ${text}`)
      else notify(about, text, href)
    }
    if (event.type === 'approval' && event.state === 'pending')
      tell(`${name} waits for you`, 'The agent asks for an approval.')
    else if (event.type === 'done')
      tell(`${name}: ${toOutcomeText(event.outcome)}`, (event.answer || event.reason || '').slice(0, 300))
    else if (event.type === 'push') tell(`${name}: ${event.provider}`, event.text.slice(0, 300))
    else if (event.type === 'error') tell(`${name}: error`, event.message)
    else if (isLookedAt && event.type === 'fragment' && event.kind === 'step') announce(event.text)
  }

  async function readModels() {
    /** @type {{ data: readonly { readonly id: string, readonly copilot_proxy?: { readonly type?: string } }[] }} */
    const { data } = await ask('v1/models')
    view.composer.setModels(
      data.filter((model) => (model.copilot_proxy?.type ?? 'chat') === 'chat').map(({ id }) => id),
    )
  }

  return {
    node,
    get title() {
      return title
    },
    async start() {
      stopFollowing?.()
      await store.readSessions()
      let hasReadRunning = false
      stopFollowing = followEvents({
        onEvent: (event) => store.receive(event),
        onState(state) {
          onState(state)
          if (state === 'live' && !hasReadRunning) {
            hasReadRunning = true
            void store.readRunning().catch(onFailure)
          }
        },
        onRefused,
      })
      void readModels().catch(onFailure)
    },
    stop: () => stopFollowing?.(),
    show(id, conversation) {
      const wanted = id || lastSession || (store.sessions()[0]?.id ?? '')
      if (node.firstChild !== view.node) node.replaceChildren(view.node)
      if (!view.open(wanted, id === wanted ? conversation : '')) {
        node.replaceChildren(
          element('p', { class: 'empty' }, 'No workspace is open. Add one with: copilot-proxy serve --workspace DIR'),
        )
        return
      }
      lastSession = wanted
      title = store.sessions().find((session) => session.id === wanted)?.name ?? title
      if (id !== wanted) history.replaceState(null, '', addressOf(wanted, ''))
    },
    hide() {},
    refresh: async () => {},
  }
}

/**
 * @param {string} session
 * @param {string} conversation
 */
function addressOf(session, conversation) {
  const part = conversation === '' ? '' : `/${encodeURIComponent(conversation)}`
  return `#/sessions/${encodeURIComponent(session)}${part}`
}
