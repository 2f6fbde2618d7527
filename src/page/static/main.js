/** @import { View } from './view.js' */
import { announce } from './announce.js'
import { ApiError, ask, key } from './api.js'
import { byId, element } from './dom.js'
import { guardInputMethods } from './input-method.js'
import { notify } from './notifications.js'
import { hasCode, readCaller, redeemCode } from './owner.js'
import { signIn } from './sign-in.js'

/** Interval between two questions whether the daemon is there, and the one while it is not. Ms. */
const watchMs = 5000
const retryMs = 2000

const main = byId('main')
const connection = byId('connection')
const lost = byId('lost')

/** The views by their names in the address, each loaded when it is first opened. @type {Readonly<Record<string, () => Promise<View>>>} */
const loaders = {
  overview: async () => (await import('./overview-view.js')).createOverviewView(onFailure),
  requests: async () => (await import('./requests-view.js')).createRequestsView(onFailure),
  models: async () => (await import('./models-view.js')).createModelsView(onFailure),
  logins: async () => (await import('./logins-view.js')).createLoginsView(onFailure),
  keys: async () => (await import('./keys-view.js')).createKeysView(onFailure),
  clients: async () => (await import('./clients-view.js')).createClientsView(onFailure),
}

/** @type {Map<string, Promise<View>>} */
const views = new Map()
/** @type {View | undefined} */
let shown
/** @type {ReturnType<typeof import('./sessions.js').createSessions> | undefined} */
let sessions
/** Whether the events of sessions say what the connection does. */
let isFollowing = false
/** @type {ReturnType<typeof setTimeout> | undefined} */
let watchTimer

/** @param {'connecting' | 'live' | 'lost'} state */
function showConnection(state) {
  connection.textContent = { connecting: 'Connecting …', live: 'Live', lost: 'Connection lost' }[state]
  lost.hidden = state !== 'lost'
  const was = connection.dataset['state']
  connection.dataset['state'] = state
  if (was === 'live' && state === 'lost') announce('The connection to copilot-proxy was lost.')
  if (was === 'lost' && state === 'live') {
    announce('The connection to copilot-proxy is back.')
    void shown?.refresh()
    // Another daemon may answer, which does not know this page.
    if (isFollowing) void watch()
  }
}

/** @param {unknown} error */
function onFailure(error) {
  if (!(error instanceof ApiError)) return
  if (error.status === 401) void start('The key is no longer accepted.')
  if (error.status === 0 && !isFollowing) showConnection('lost')
}

/** Asks again and again who this page is: a restarted daemon no longer knows the token of a page, and a workspace may come. */
async function watch() {
  clearTimeout(watchTimer)
  let delayMs = watchMs
  try {
    const caller = await readCaller()
    if (!isFollowing) showConnection('live')
    if (caller.sessions !== (sessions !== undefined)) return void start()
  } catch (error) {
    onFailure(error)
    if (error instanceof ApiError && error.status === 401) return
    delayMs = retryMs
  }
  clearTimeout(watchTimer)
  watchTimer = setTimeout(() => void watch(), delayMs)
}

/** Shows the view that the address names: `#/overview`, `#/requests/ID`, `#/sessions/ID`, `#/sessions/ID/CONVERSATION`. */
async function route() {
  const { hash } = location
  const [, name = '', id = '', part = ''] = hash.split('/')
  const wanted = name in loaders || (name === 'sessions' && sessions !== undefined) ? name : ''
  const current = wanted || (sessions === undefined ? 'overview' : 'sessions')
  for (const link of document.querySelectorAll('[data-view]')) {
    if (link.getAttribute('data-view') === current) {
      link.setAttribute('aria-current', 'page')
      showInList(link)
    } else link.removeAttribute('aria-current')
  }
  const view = await viewOf(current)
  // Another address may have been opened meanwhile.
  if (view === undefined || location.hash !== hash) return
  if (shown !== view) {
    shown?.hide()
    shown = view
  }
  if (main.firstChild !== view.node) main.replaceChildren(view.node)
  view.show(decodeId(id), decodeId(part))
  document.title = `${view.title} – copilot-proxy`
}

/**
 * On a narrow screen, the navigation scrolls sideways. `scrollIntoView` would also move the place where the Tab key begins.
 * @param {Element} link
 */
function showInList(link) {
  const list = link.closest('ul')
  if (list === null) return
  const [inside, outside] = [link.getBoundingClientRect(), list.getBoundingClientRect()]
  list.scrollLeft += inside.left - outside.left - (outside.width - inside.width) / 2
}

/** Moves the focus to the new view for keyboards and screen readers, unless the form of a session has it. */
async function routeWithFocus() {
  await route()
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true })
}

/** @param {string} name */
async function viewOf(name) {
  if (name === 'sessions') return sessions
  const load = loaders[name]
  if (load === undefined) return undefined
  const view = views.get(name) ?? load()
  views.set(name, view)
  try {
    return await view
  } catch {
    views.delete(name)
    showConnection('lost')
    return undefined
  }
}

/** @param {string} id */
function decodeId(id) {
  try {
    return decodeURIComponent(id)
  } catch {
    return ''
  }
}

/** @param {boolean} areThere */
async function startSessions(areThere) {
  byId('sessions-link').hidden = !areThere
  isFollowing = areThere
  if (!areThere) {
    sessions = undefined
    return
  }
  const { createSessions } = await import('./sessions.js')
  sessions ??= createSessions({
    onFailure,
    onState: showConnection,
    onRefused: (error) => void start(error.status === 401 ? 'The key is no longer accepted.' : undefined),
  })
  await sessions.start()
}

/** Shows whether all answers are simulated. */
async function showDemo() {
  /** @type {{ readonly demo?: boolean }} */
  const { demo } = await ask('healthz')
  byId('demo').hidden = demo !== true
}

let isStarting = false

/** @param {string} [reason] why the page asks for a key again */
async function start(reason) {
  if (isStarting) return
  isStarting = true
  clearTimeout(watchTimer)
  sessions?.stop()
  isFollowing = false
  shown?.hide()
  shown = undefined
  /** @type {string | undefined} */
  let refusal
  try {
    if (reason !== undefined) key.forget()
    refusal = await redeemCode()
    if (refusal !== undefined) notify('This page was not opened as the owner', refusal)
    const caller = await readCaller()
    await startSessions(caller.sessions)
    void showDemo().catch(onFailure)
  } catch (error) {
    isStarting = false
    if (error instanceof ApiError && error.status === 401) {
      delete connection.dataset['state']
      connection.textContent = ''
      lost.hidden = true
      await signIn(main, reason ?? refusal ?? (key.get() === '' ? undefined : error.message))
      return start()
    }
    isFollowing = false
    showConnection('lost')
    if (main.firstElementChild === null)
      main.replaceChildren(element('p', { class: 'empty' }, error instanceof Error ? error.message : String(error)))
    setTimeout(() => void start(), retryMs)
    return
  }
  isStarting = false
  byId('sign-out').hidden = key.get() === ''
  if (!isFollowing) showConnection('live')
  watchTimer = setTimeout(() => void watch(), watchMs)
  await route()
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
  if (connection.dataset['state'] === undefined) return
  void routeWithFocus()
})
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void shown?.refresh()
})
guardInputMethods()
void start()
