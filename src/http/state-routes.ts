import type { FastifyInstance } from 'fastify'
import { Fault } from '../errors.ts'
import type { CopilotTokenStatus } from '../auth/copilot-token.ts'
import type { CopilotAccount } from '../auth/quota.ts'

export interface StateDeps {
  readonly version: string
  readonly tokenStatus: () => CopilotTokenStatus
  /** @throws Fault `copilot_unavailable` */
  readonly account: (signal: AbortSignal) => Promise<CopilotAccount>
}

/** Routes that say how the daemon is. None returns a credential, a path or an account name. */
export function registerStateRoutes(app: FastifyInstance, deps: StateDeps): void {
  const { version } = deps

  app.get('/healthz', { config: { public: true } }, () => ({
    ok: true,
    copilot: deps.tokenStatus().state === 'ok' ? 'ok' : 'unavailable',
    version,
  }))

  app.get('/readyz', { config: { public: true } }, () => {
    const status = deps.tokenStatus()
    if (status.state !== 'ok') throw new Fault({ kind: 'copilot_unavailable', detail: status.detail, fix: status.fix })
    return { ok: true }
  })

  app.get('/usage', async (_request, reply) => {
    const controller = new AbortController()
    reply.raw.once('close', () => controller.abort())
    return deps.account(controller.signal)
  })
}
