import type { ExchangeOutcome } from '../auth/copilot-exchange.ts'
import { failed, ok, skipped, warning } from './check.ts'
import type { Findings } from './check.ts'

const again = 'Try again in a moment: copilot-proxy doctor'

/** Whether GitHub still takes the login: what an exchange for a Copilot token ended with. */
export function judgeCopilotToken(outcome: ExchangeOutcome): Findings {
  switch (outcome.kind) {
    case 'ok':
      if (outcome.direct) return ok('GitHub takes the login, which is sent to Copilot itself and has no end of its own')
      return ok(`GitHub takes the login and gave a token for ${Math.round(outcome.refreshInSeconds / 60)} minutes`)
    case 'bad_credentials':
    case 'not_available':
      return failed(outcome.detail, outcome.fix)
    case 'no_access':
      return skipped('GitHub takes the login, and gives this account no token')
    case 'rate_limited': {
      const { detail, retryAfterSeconds } = outcome
      return warning(
        detail,
        retryAfterSeconds === undefined ? again : `In ${retryAfterSeconds} seconds, try again: copilot-proxy doctor`,
      )
    }
    case 'redirected':
      return failed(outcome.detail, 'Sign in to the network in a browser, or leave it, then run: copilot-proxy doctor')
    case 'transient':
      return failed(outcome.detail, again)
    case 'aborted':
      return skipped('Interrupted')
  }
}
