import { createAutoMode } from './copilot/auto.ts'
import type { AutoSession } from './copilot/auto.ts'
import { usualFailure } from './copilot/failures.ts'
import { headerOf, openHost } from './http/host.ts'
import type { Host } from './http/host.ts'
import { textReply } from './http/outcome.ts'
import { copilotHeaders, createCopilotRoutes } from './copilot/answer-routes.ts'
import { createTokenStore } from './copilot/tokens.ts'
import type { TokenStore } from './copilot/tokens.ts'
import { createControl } from './control.ts'
import type { Controls } from './control.ts'
import { refuseAccess } from './copilot/access.ts'
import { answerAuto } from './copilot/auto.ts'
import { createCopilotChecks } from './copilot/checks.ts'
import { createGithub } from './copilot/github.ts'
import { createTokenOwners, withoutModels } from './copilot/owners.ts'
import { createPolicies } from './copilot/policies.ts'
import { routeOf, STREAMING_ROUTES } from './copilot/routes.ts'
import type { CopilotRoute } from './copilot/routes.ts'
import { DEFAULT_COPILOT_SETTINGS } from './copilot/settings.ts'
import type { CopilotSettings, PollAnswer } from './copilot/settings.ts'
import type { StreamGate } from './gate.ts'

export interface CopilotOptions {
  /** 0 or absent selects a free port. The server always listens on 127.0.0.1. */
  readonly port?: number
  readonly settings?: Partial<CopilotSettings>
  /** Answers to the first polls of the device flow. Later polls are approved. */
  readonly polls?: readonly PollAnswer[]
  /** The number of newest requests to keep in `log`; default 0. */
  readonly record?: number
  /** Ms since epoch; default `Date.now`. */
  readonly now?: () => number
}

/** The simulated GitHub and Copilot, as strict as the real ones, with controls for tests. */
export interface CopilotUpstream extends Host, Omit<Controls<CopilotRoute>, 'gateNext'> {
  /** The number of token exchanges requested so far, including refused ones. */
  readonly exchanges: () => number
  readonly tokens: TokenStore & {
    /** Expires every Copilot token issued so far. */
    readonly expireAll: () => void
    /** Revokes every GitHub token issued so far, as "Sign out of all applications" does. */
    readonly revokeAll: () => void
  }
  /** The GitHub token behind the `authorization` of a request. */
  readonly ownerOf: (authorization: string | undefined) => string
  /** Forgets every choice of a model for `auto` so far. */
  readonly forgetAutoSessions: () => void
  readonly configure: (change: Partial<CopilotSettings>) => void
  readonly answerPolls: (...answers: readonly PollAnswer[]) => void
  /** Holds the next streamed reply of the route between its pieces. */
  readonly gateNext: (route?: CopilotRoute) => StreamGate
}

/** Starts the strict simulated Copilot. Rejects with Node's own error if the port is taken. */
export async function startCopilot({
  port: wantedPort,
  settings: given,
  polls = [],
  record = 0,
  now = Date.now,
}: CopilotOptions = {}): Promise<CopilotUpstream> {
  let current: CopilotSettings = { ...DEFAULT_COPILOT_SETTINGS, ...given }
  const settings = (): CopilotSettings => current
  const pollAnswers = [...polls]
  const githubTokens = new Set<string>()
  const copilotExpiryMs = new Map<string, number>()
  const autoSessions = new Map<string, AutoSession>()
  const owners = createTokenOwners()
  const policies = createPolicies()
  const { controls, hookReplies, watch } = createControl<CopilotRoute>({
    routeOf,
    streamingRoutes: STREAMING_ROUTES,
    record,
    maxBodyBytes: () => current.maxBodyBytes,
    tooLarge: usualFailure(413),
  })

  const { promise: tokensMade, resolve: tokensAreMade } = Promise.withResolvers<TokenStore>()
  const host = await openHost({ port: wantedPort, hookReplies }, ({ url, port }) => {
    const tokens = createTokenStore({ now, scope: String(port), github: githubTokens, copilotExpiryMs })
    tokensAreMade(tokens)
    const auto = createAutoMode(now, autoSessions)
    const github = createGithub({ settings, tokens, now, url, pollAnswers })
    const checks = createCopilotChecks({ settings, autoSessions, now })
    const answer = createCopilotRoutes({ pace: settings, auto, now, checks })
    return {
      headers: copilotHeaders,
      answer: (hosted) => {
        const { request, body } = hosted
        const route = routeOf(request)
        if (route === undefined) return textReply(404, '404 page not found')
        if (route === '/_ping') return textReply(200, 'OK')
        const call = { header: (name: string) => headerOf(request, name), body }
        const ofGithub = github(route, call)
        if (ofGithub !== undefined) {
          if (route === '/copilot_internal/v2/token') owners.note(request.headers.authorization, ofGithub)
          return ofGithub
        }
        const reply =
          refuseAccess(request, tokens) ??
          (route === '/models/{id}/policy'
            ? policies.accept(owners.of(request.headers.authorization), hosted.path, body)
            : undefined) ??
          answerAuto(route, call, { auto, available: current.autoWays }) ??
          answer(route, hosted)
        if (route !== '/models') return reply
        const owner = owners.of(request.headers.authorization)
        return policies.apply(
          owner,
          withoutModels(reply, (model) => current.lacksModel(owner, model)),
        )
      },
    }
  })
  const tokens = await tokensMade

  return {
    ...watch(host),
    ...controls,
    exchanges: () => controls.count('/copilot_internal/v2/token'),
    tokens: { ...tokens, expireAll: () => copilotExpiryMs.clear(), revokeAll: () => githubTokens.clear() },
    ownerOf: owners.of,
    forgetAutoSessions: () => autoSessions.clear(),
    configure: (change) => {
      current = { ...current, ...change }
    },
    answerPolls: (...answers) => {
      pollAnswers.push(...answers)
    },
    gateNext: (route = '/chat/completions') => controls.gateNext(route),
  }
}
