import { byId } from './dom.js'

/**
 * Tells a screen reader what happened. The stream itself is no live region: it changes many times a second.
 * @param {string} text
 */
export function announce(text) {
  const region = byId('announcements')
  // The same text twice is a change only if the region was empty in between.
  region.textContent = ''
  setTimeout(() => (region.textContent = text), 50)
}
