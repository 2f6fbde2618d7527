import { byId } from './dom.js'

/**
 * Announces a text to screen readers. The stream is not a live region itself, because it changes many times a second.
 * @param {string} text
 */
export function announce(text) {
  const region = byId('announcements')
  // Empty the region first: otherwise, the same text again is no change.
  region.textContent = ''
  setTimeout(() => (region.textContent = text), 50)
}
