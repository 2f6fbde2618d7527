import { byId, element } from './dom.js'

/** How long a notification stays in the page. Ms. */
const shownMs = 8000
const maxShown = 4

/**
 * Shows a notification in the page, and one of the system's if the person asked for those and looks elsewhere.
 * @param {string} title
 * @param {string} text
 * @param {string} [href] where it leads
 */
export function notify(title, text, href) {
  const region = byId('toasts')
  const body = href === undefined ? element('span', {}, text) : element('a', { href }, text)
  const close = element('button', { type: 'button', 'aria-label': 'Close', click: () => toast.remove() }, '×')
  const toast = element('div', { class: 'toast', role: 'status' }, element('strong', {}, title), body, close)
  body.addEventListener('click', () => toast.remove())
  region.append(toast)
  while (region.children.length > maxShown) region.firstElementChild?.remove()
  setTimeout(() => {
    // One that is being read with the keyboard stays.
    if (!toast.contains(document.activeElement)) toast.remove()
  }, shownMs)
  if (document.visibilityState === 'visible' || !isAllowed()) return
  const shown = new Notification(title, { body: text, tag: href ?? title })
  shown.addEventListener('click', () => {
    window.focus()
    if (href !== undefined) location.hash = href
    shown.close()
  })
}

function isAllowed() {
  return 'Notification' in window && Notification.permission === 'granted'
}

/** Offers the system's notifications with a button; the browser asks only after a press of it. */
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
