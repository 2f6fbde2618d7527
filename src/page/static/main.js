/** @import { DaemonEvent } from '../../api/events.ts' */
import { announce } from './announce.js'
import { ApiError, ask, key } from './api.js'
import { byId, element } from './dom.js'
import { followEvents } from './follow-events.js'
import { notify, offerNotifications } from './notifications.js'
import { hasCode, readCaller, redeemCode } from './owner.js'
import { createRequestsView } from './requests-view.js'
import { toOutcomeText } from './run-view.js'
import { createSessionStore } from './session-store.js'
import { createSessionsView } from './sessions-view.js'
import { signIn } from './sign-in.js'

/** Older events cause no notification, because they happened before the page was opened. Ms. */
const presentMs = 10_000

/** Delay before the page tries to start again. Ms. */
const retryMs = 3000

const main = byId('main')
const connection = byId('connection')

let isDrawing = false
/** Renders once per frame, however many events arrive. */
function scheduleRender() {
  if (isDrawing) return
  isDrawing = true
  requestAnimationFrame(() => {
    isDrawing = false
    sessionsView.render()
  })
}

const store = createSessionStore({ onChange: scheduleRender, onEvent: tellOf })
const sessionsView = createSessionsView(store)
const requestsView = createRequestsView(onFailure)
/** Id of the session that was open last. */
let lastSession = ''
let stopFollowing = () => {}

/** @param {DaemonEvent} event */
function tellOf(event) {
  if (event.type === 'gap' || Math.abs(Date.now() - Date.parse(event.time)) > presentMs) return
  const name = store.sessions().find(({ id }) => id === event.sessionId)?.name ?? 'A session'
  const href = `#/sessions/${encodeURIComponent(event.sessionId)}`
  const isLookedAt = location.hash === href && document.visibilityState === 'visible'
  const tell = (/** @type {string} */ title, /** @type {string} */ text) => {
    if (isLookedAt) announce(`${title}. ${text}`)
    else notify(title, text, href)
  }
  if (event.type === 'approval' && event.state === 'pending')
    tell(`${name} waits for you`, 'The agent asks for an approval.')
  else if (event.type === 'done')
    tell(`${name}: ${toOutcomeText(event.outcome)}`, (event.answer || event.reason || '').slice(0, 300))
  else if (event.type === 'push') tell(`${name}: ${event.provider}`, event.text.slice(0, 300))
  else if (event.type === 'error') tell(`${name}: error`, event.message)
  else if (isLookedAt && event.type === 'fragment' && event.kind === 'step') announce(event.text)
}

/** @param {unknown} error */
function onFailure(error) {
  if (error instanceof ApiError && error.status === 401) void start('The key is no longer accepted.')
}

/** Shows the view that the URL names: `#/sessions/ID`, `#/requests`, `#/requests/ID`. */
function route() {
  const [, view = '', id = ''] = location.hash.split('/')
  const isRequests = view === 'requests'
  for (const link of document.querySelectorAll('[data-view]')) {
    if (link.getAttribute('data-view') === (isRequests ? 'requests' : 'sessions'))
      link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  if (isRequests) {
    if (main.firstChild !== requestsView.node) main.replaceChildren(requestsView.node)
    requestsView.show(decodeURIComponent(id))
    document.title = 'Requests – copilot-proxy'
    return
  }
  requestsView.hide()
  const wanted = decodeURIComponent(id) || lastSession || (store.sessions()[0]?.id ?? '')
  if (main.firstChild !== sessionsView.node) main.replaceChildren(sessionsView.node)
  if (sessionsView.open(wanted)) {
    lastSession = wanted
    document.title = `${store.sessions().find((session) => session.id === wanted)?.name} – copilot-proxy`
    if (decodeURIComponent(id) !== wanted) history.replaceState(null, '', `#/sessions/${encodeURIComponent(wanted)}`)
  } else {
    main.replaceChildren(
      element('p', { class: 'empty' }, 'No workspace is open. Add one with: copilot-proxy serve --workspace DIR'),
    )
  }
}

async function readModels() {
  /** @type {{ data: readonly { readonly id: string, readonly owned_by?: string, readonly copilot_proxy?: { readonly type?: string } }[] }} */
  const { data } = await ask('v1/models')
  byId('demo').hidden = !data.some(({ owned_by: owner }) => owner?.includes('(demo)'))
  sessionsView.composer.setModels(
    data.filter((model) => (model.copilot_proxy?.type ?? 'chat') === 'chat').map(({ id }) => id),
  )
}

/** @param {string} [reason] why the page asks for a key again */
async function start(reason) {
  stopFollowing()
  requestsView.hide()
  /** @type {string | undefined} */
  let refusal
  try {
    if (reason !== undefined) key.forget()
    refusal = await redeemCode()
    if (refusal !== undefined) notify('This page was not opened as the owner', refusal)
    await store.readSessions()
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      connection.textContent = ''
      await signIn(main, reason ?? refusal ?? (key.get() === '' ? undefined : error.message))
      return start()
    }
    // The daemon does not answer, or has no workspace at present.
    main.replaceChildren(element('p', { class: 'empty' }, error instanceof Error ? error.message : String(error)))
    setTimeout(() => void start(), retryMs)
    return
  }
  byId('sign-out').hidden = key.get() === ''
  let hasReadRunning = false
  stopFollowing = followEvents({
    onEvent: (event) => store.receive(event),
    onState(state) {
      connection.textContent = { connecting: 'Connecting …', live: 'Live', lost: 'Connection lost' }[state]
      if (connection.dataset['state'] === 'live' && state === 'lost')
        announce('The connection to copilot-proxy was lost.')
      connection.dataset['state'] = state
      if (state === 'live') void readCaller().catch(onFailure)
      if (state === 'live' && !hasReadRunning) {
        hasReadRunning = true
        void store.readRunning().catch(onFailure)
      }
    },
    onRefused: (error) => void start(error.status === 401 ? 'The key is no longer accepted.' : undefined),
  })
  void readModels().catch(onFailure)
  route()
}

byId('sign-out').addEventListener('click', () => {
  key.forget()
  location.reload()
})
window.addEventListener('hashchange', () => {
  if (hasCode()) {
    void start()
    return
  }
  route()
  // Move the focus to the new view for keyboards and screen readers, unless the form of a session has it.
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true })
})
offerNotifications()
void start()
