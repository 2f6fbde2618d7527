/** @import { CallerReport } from '../../api/state.ts' */
import { ApiError, ask, key } from './api.js'

/** A code that the daemon has not answered yet. @type {string | undefined} */
let waiting

/**
 * Makes the page the owner's if its address has a one-time code, which `copilot-proxy page` prints. The page invents the token,
 * so no answer contains one.
 * @returns {Promise<string | undefined>} why the daemon refused the code
 * @throws {ApiError} if it does not answer; the next call sends the code again
 */
export async function redeemCode() {
  const code = takeCode() ?? waiting
  if (code === undefined) return undefined
  const token = createToken()
  try {
    await ask('page/tokens', { method: 'POST', body: { code, token } })
  } catch (error) {
    waiting = error instanceof ApiError && error.status === 0 ? code : undefined
    if (waiting !== undefined) throw error
    return error instanceof Error ? error.message : String(error)
  }
  waiting = undefined
  key.set(token)
  return undefined
}

export function hasCode() {
  return location.hash.startsWith('#code=')
}

/** Takes the code out of the address bar, so that no history and no bookmark keeps it. */
function takeCode() {
  if (!hasCode()) return undefined
  const code = location.hash.slice('#code='.length)
  history.replaceState(null, '', location.pathname + location.search)
  return code
}

/** Returns 256 random bits as base64url. */
function createToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

let isAnyone = false
let isOwned = false

/** Whether the daemon lets this page decide approvals, as far as the page knows. */
export function mayDecide() {
  return !isAnyone
}

/** Whether this page is the owner's, as far as the page knows. */
export function isOwner() {
  return isOwned
}

/** Asks the daemon who this page is. A restarted daemon no longer knows the token of a page. */
export async function readCaller() {
  /** @type {CallerReport} */
  const caller = await ask('caller')
  isAnyone = !caller.owner && caller.key === null
  isOwned = caller.owner
  // By these, page.css shows the buttons of approvals and of other changes, or the command in their place.
  document.body.toggleAttribute('data-anyone', isAnyone)
  document.body.toggleAttribute('data-owner', caller.owner)
  return caller
}
