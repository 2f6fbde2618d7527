import type { IncomingHttpHeaders } from 'node:http'
import type { Outcome } from '../http/outcome.ts'
import { detail, openaiError, unauthorized } from './failures.ts'
import { invalidKey } from './key-api.ts'
import { LITE_HEADER } from './lite-checks.ts'
import type { CodexLogins } from './logins.ts'
import { mixedUp } from './separation.ts'

/**
 * Refuses a request to the ChatGPT backend by its token, its workspace or the name of its program (docs/codex-wire.md,
 * "Errors"). Undefined if they are right.
 */
export function chatgptAccess(headers: IncomingHttpHeaders, logins: CodexLogins): Outcome | undefined {
  const bearer = bearerOf(headers)
  if (bearer?.startsWith('sk-') === true) {
    return detail(401, 'Could not parse your authentication token. Please try signing in again.')
  }
  const state = logins.accessState(bearer ?? '')
  if (state.is === 'revoked') return unauthorized('token_invalidated')
  if (state.is !== 'live') return unauthorized('token_expired')
  const { person } = state
  if (headers['chatgpt-account-id'] !== person.accountId) {
    return detail(403, { code: 'invalid_workspace_selected' })
  }
  if ((headers['x-openai-fedramp'] === 'true') !== person.isFedramp) {
    return mixedUp('header x-openai-fedramp does not say what the token claims')
  }
  const unnamed = namelessHeader(headers)
  if (unnamed !== undefined) return detail(403, `Requests have to say who they are: ${unnamed}`)
  return undefined
}

/** The same for the key API, which refuses everything that belongs to the ChatGPT backend. */
export function keyAccess(headers: IncomingHttpHeaders, apiKey: string): Outcome | undefined {
  const bearer = bearerOf(headers)
  if (bearer?.startsWith('ey') === true) {
    const message =
      'You have insufficient permissions for this operation. Missing scopes: api.responses.write. Check that you have the correct role in your organization.'
    return openaiError(401, { message, code: null })
  }
  if (bearer !== apiKey) return invalidKey()
  const misplaced = CHATGPT_HEADERS.find((name) => headers[name] !== undefined)
  return misplaced === undefined ? undefined : mixedUp(`header ${misplaced} belongs to the ChatGPT backend`)
}

/** The real key API ignores these headers. */
const CHATGPT_HEADERS = ['chatgpt-account-id', 'originator', LITE_HEADER, 'x-openai-fedramp', 'x-codex-turn-state']

/** User agents that a library sets if the program sets none. */
const LIBRARY_AGENT = /^(?:node|undici|node-fetch|axios)\b/i

function namelessHeader(headers: IncomingHttpHeaders): string | undefined {
  const agent = headers['user-agent'] ?? ''
  if (agent === '' || LIBRARY_AGENT.test(agent)) return 'user-agent'
  return String(headers['originator'] ?? '') === '' ? 'originator' : undefined
}

function bearerOf({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^bearer (\S+)$/i.exec(authorization)?.[1]
}
