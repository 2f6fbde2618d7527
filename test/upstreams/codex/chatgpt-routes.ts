import { headerOf, tokenOf } from '../http/host.ts'
import type { HostedRequest } from '../http/host.ts'
import type { Outcome } from '../http/outcome.ts'
import { detail, unauthorized } from './failures.ts'
import { answerCodex } from './inference.ts'
import { answerModels } from './models.ts'
import type { CodexChecks, CodexSettings } from './request.ts'
import type { CodexPerson } from './tokens.ts'

export interface CodexRoutesDeps {
  readonly settings: () => CodexSettings
  readonly now: () => number
  /** The owner of an access token; undefined for an invalid token. */
  readonly personOf: (accessToken: string) => CodexPerson | undefined
  readonly checks: CodexChecks
}

/** The routes of the simulated ChatGPT backend. Any other path gets 404. */
export function createCodexRoutes(deps: CodexRoutesDeps): (hosted: HostedRequest) => Outcome {
  const { settings, now, personOf, checks } = deps
  return ({ request, path, body, number }) => {
    const { headers, method = '', url = '' } = request
    const route = `${method} ${path}`
    if (route !== 'POST /backend-api/codex/responses' && route !== 'GET /backend-api/codex/models') {
      return detail(404, 'Not Found')
    }
    const person = personOf(tokenOf(request))
    if (person === undefined) return unauthorized('token_expired')
    if (method === 'GET') {
      return answerModels({ path: url, ifNoneMatch: headers['if-none-match'], person })
    }
    const header = (name: string): string | undefined => headerOf(request, name)
    const account = person.accountId
    const call = { person, account, header, bodyText: body, number, nowMs: now(), settings: settings() }
    return answerCodex({ ...call, api: 'chatgpt' }, checks)
  }
}
