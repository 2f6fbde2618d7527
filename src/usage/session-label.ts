import { hash } from 'node:crypto'

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** Of a UUID: 48 bits, also where these are a time in milliseconds (version 7). */
const shownOfUuid = 13
const shownOfHash = 12

/**
 * The text that names a caller's conversation in the totals: the beginning of a UUID, by which people find the conversation
 * in their client, else a hash, because a client may take any text for an id. '' if the caller names no conversation.
 */
export function sessionLabel(name: string | undefined): string {
  if (name === undefined || name === '') return ''
  if (uuid.test(name)) return name.toLowerCase().slice(0, shownOfUuid)
  return hash('sha256', `copilot-proxy session ${name}`, 'hex').slice(0, shownOfHash)
}
