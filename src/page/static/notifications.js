import { byId, element } from './dom.js'

/** The page removes a notification after this time. Ms. */
const shownMs = 8000
const maxShown = 4

/**
 * Shows a notification in the page, and also one of the system if the user has allowed those and the page is not visible.
 * @param {string} title
 * @param {string} text
 * @param {string} [href] the target of the notification's link
 */
export function notify(title, text, href) {
  const region = byId('toasts')
  const body = href === undefined ? element('span', {}, text) : element('a', { href }, text)
  const close = element('button', { type: 'button', 'aria-label': 'Close', click: () => toast.remove() }, '×')
  const toast = element('div', { class: 'toast', role: 'status' }, element('strong', {}, title), body, close)
  body.addEventListener('click', () => toast.remove())
  // As the system's notifications: news of a session replaces what is old by now.
  const tag = href ?? title
  toast.dataset['tag'] = tag
  for (const old of region.querySelectorAll(`[data-tag="${CSS.escape(tag)}"]`)) old.remove()
  region.append(toast)
  while (region.children.length > maxShown) region.firstElementChild?.remove()
  setTimeout(() => {
    // Keep a notification that has the focus.
    if (!toast.contains(document.activeElement)) toast.remove()
  }, shownMs)
  if (document.visibilityState === 'visible' || !isAllowed()) return
  const shown = new Notification(title, { body: text, tag })
  shown.addEventListener('click', () => {
    window.focus()
    if (href !== undefined) location.hash = href
    shown.close()
  })
}

function isAllowed() {
  return 'Notification' in window && Notification.permission === 'granted'
}

/** Shows a button for the system's notifications, because a browser asks for permission only after a click. */
export function offerNotifications() {
  const button = byId('notify')
  button.hidden = !('Notification' in window) || Notification.permission !== 'default'
  button.addEventListener('click', () => void askForPermission(button))
}

/** @param {HTMLElement} button */
async function askForPermission(button) {
  const answer = await Notification.requestPermission()
  button.hidden = answer !== 'default'
  if (answer === 'granted') notify('Notifications are on', 'The browser notifies you of approvals and ended runs.')
}
