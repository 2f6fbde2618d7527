import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LoginReport, LogoutReport } from '../../api/logins.ts'
import type { AccountList, LoginStatus } from '../../api/status.ts'
import { maySee } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import type { ProviderId } from '../../executors/executor.ts'
import type { Lifetimes } from '../lifetimes.ts'
import { requireOwner } from './owner-routes.ts'

/** The logins of this daemon. */
export interface Logins {
  readonly report: () => Promise<LoginReport>
  /** As stored, with paths. */
  readonly status: () => Promise<LoginStatus>
  readonly accounts: () => Promise<AccountList>
  /** Starts a login with a code, unless one is under way. @throws Fault `invalid_request` where none is possible */
  readonly start: (provider: ProviderId) => Promise<void>
  readonly cancel: (provider: ProviderId) => void
  /** Deletes the stored login in use. @throws RecordStoreError */
  readonly logOut: (provider: ProviderId) => Promise<LogoutReport>
}

export interface LoginRouteDeps {
  readonly lifetimes: Lifetimes
  readonly logins: Logins
}

/**
 * The logins for people. The owner and, without keys, everybody who may call reads them; a key does not. Only the owner changes
 * them and sees the code of a login under way: whoever has that code could give the daemon another account.
 */
export function registerLoginRoutes(app: FastifyInstance, { lifetimes, logins }: LoginRouteDeps): void {
  const config = { dialect: 'chat' } as const
  type ProviderRequest = FastifyRequest<{ Params: { provider: string } }>

  app.get('/logins', { config }, async ({ caller }, reply) => {
    if (!maySee(caller, undefined)) requireOwner(caller)
    return reply.header('cache-control', 'no-store').send(shownTo(caller.isOwner, await logins.report()))
  })

  // Paths, and the names of all keys.
  app.get('/status', { config }, async ({ caller }, reply) => {
    requireOwner(caller)
    return reply.header('cache-control', 'no-store').send(await logins.status())
  })
  app.get('/accounts', { config }, async ({ caller }, reply) => {
    requireOwner(caller)
    return reply.header('cache-control', 'no-store').send(await logins.accounts())
  })

  app.post('/logins/:provider', { config }, (request: ProviderRequest, reply) =>
    lifetimes.whileCallerStays(request, reply, async () => {
      const provider = checked(request)
      await logins.start(provider)
      return reply.header('cache-control', 'no-store').send(await logins.report())
    }),
  )

  app.post('/logins/:provider/cancel', { config }, async (request: ProviderRequest, reply) => {
    logins.cancel(checked(request))
    return reply.header('cache-control', 'no-store').send(await logins.report())
  })

  app.delete('/logins/:provider', { config }, (request: ProviderRequest, reply) =>
    lifetimes.whileCallerStays(request, reply, () => logins.logOut(checked(request))),
  )
}

function shownTo(isOwner: boolean, report: LoginReport): LoginReport {
  if (isOwner) return report
  return { ...report, copilot: { ...report.copilot, flow: null }, codex: { ...report.codex, flow: null } }
}

/** @throws Fault `session_refused`, `invalid_request` */
function checked({ caller, params: { provider } }: FastifyRequest<{ Params: { provider: string } }>): ProviderId {
  requireOwner(caller)
  if (provider === 'copilot' || provider === 'codex') return provider
  throw new Fault({
    kind: 'invalid_request',
    path: 'provider',
    detail: 'must be copilot or codex',
    code: 'invalid_value',
  })
}

const none = { state: 'login_required', detail: '', fix: '', source: 'stored', accounts: [], flow: null } as const

const noToken = { state: 'none', expires_at: null } as const

/** For an app without a daemon around it. */
export const noLogins: Logins = {
  report: async () => ({ stored: '', copilot: none, codex: none }),
  status: async () => ({
    login: null,
    problem: null,
    store: 'file',
    token: noToken,
    codex: { enabled: false, login: null, problem: null, advice: null, token: noToken },
  }),
  accounts: async () => ({ accounts: [], environment_token: false }),
  start: async () => {},
  cancel: () => {},
  logOut: async () => ({ account: null, next: null }),
}
