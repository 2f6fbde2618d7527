import type { FastifyInstance } from 'fastify'
import { Fault } from '../errors.ts'
import type { CodexLoginStatus } from '../auth/codex/credentials.ts'
import type { CopilotTokenStatus } from '../auth/copilot-token.ts'
import type { CopilotAccount } from '../auth/quota.ts'
import { whileCallerStays } from './while-caller-stays.ts'
import type { CallerDeps } from './while-caller-stays.ts'

export interface StateDeps {
  readonly version: string
  /** Answers come from the simulated Copilot. */
  readonly demo: boolean
  readonly tokenStatus: () => CopilotTokenStatus
  /** Undefined where Codex is switched off. */
  readonly codexStatus: () => CodexLoginStatus | undefined
  /** @throws Fault; the signal's reason on abort */
  readonly account: (signal: AbortSignal) => Promise<CopilotAccount>
}

/** Routes that say how the daemon is. None returns a credential, a path or an account name. */
export function registerStateRoutes(app: FastifyInstance, deps: StateDeps & CallerDeps): void {
  const { version } = deps

  app.get('/healthz', { config: { public: true, always: true } }, () => ({
    ok: true,
    copilot: deps.tokenStatus().state === 'ok' ? 'ok' : 'unavailable',
    // Said of who has that login: for everybody else there is nothing to be unavailable.
    ...codexHealth(deps.codexStatus()),
    version,
    ...(deps.demo && { demo: true }),
  }))

  app.get('/readyz', { config: { public: true } }, () => {
    const status = deps.tokenStatus()
    // One provider that answers is enough to be of use.
    if (status.state === 'ok' || deps.codexStatus()?.state === 'ok') return { ok: true }
    throw new Fault({ kind: 'copilot_unavailable', detail: status.detail, fix: status.fix })
  })

  app.get('/usage', (request, reply) => whileCallerStays(deps, request, reply, deps.account))
}

function codexHealth(status: CodexLoginStatus | undefined): { readonly codex?: 'ok' | 'unavailable' } {
  const isConfigured = status?.recordId !== undefined || (status?.source ?? 'login') !== 'login'
  if (status === undefined || !isConfigured) return {}
  return { codex: status.state === 'ok' ? 'ok' : 'unavailable' }
}
