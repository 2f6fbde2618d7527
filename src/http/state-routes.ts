import { version as nodeVersion } from 'node:process'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../errors.ts'
import type { CodexLoginStatus } from '../auth/codex/credentials.ts'
import type { PlanUse } from '../auth/codex/plan-use.ts'
import type { CopilotTokenStatus } from '../auth/copilot-token.ts'
import type { CopilotAccount, UntoldAccount } from '../auth/quota.ts'
import { firstDay, toTotals } from '../totals/periods.ts'
import type { UsageTotals } from '../totals/periods.ts'
import type { UsageRecorder } from '../totals/recorder.ts'
import { toChatError } from '../translate/chat/error.ts'
import type { Config } from '../config/schema.ts'
import type { Admission } from './admission.ts'
import type { CacheWatch } from './cache-watch.ts'
import { expositionType } from './exposition.ts'
import type { Metrics } from './metrics.ts'
import { toFault } from './reply.ts'
import { whileCallerStays } from './while-caller-stays.ts'
import type { CallerDeps } from './while-caller-stays.ts'

export interface StateDeps {
  readonly version: string
  /** Answers come from the simulated Copilot. */
  readonly demo: boolean
  readonly tokenStatus: () => CopilotTokenStatus
  /** Undefined where Codex is switched off. */
  readonly codexStatus: () => CodexLoginStatus | undefined
  /** Of the ChatGPT plan; undefined until an answer has told. */
  readonly planUse: () => PlanUse | undefined
  /** The configuration file has changed to something that is not valid; older settings are in force. */
  readonly isConfigRefused: () => boolean
  /** @throws Fault; the signal's reason on abort */
  readonly account: (signal: AbortSignal) => Promise<CopilotAccount | UntoldAccount>
  readonly totals: Pick<UsageRecorder, 'since'>
  readonly metrics: Pick<Metrics, 'render'>
  readonly admission: Pick<Admission, 'active' | 'queued'>
  readonly cacheWatch: Pick<CacheWatch, 'sessions'>
  readonly config: () => Config
  /** Takes known credentials out of what is said of a failure. */
  readonly redact: (text: string) => string
  /** Ms since epoch. */
  readonly now: () => number
}

/** Answer of `GET /usage`: what GitHub says of the account, and what went through this daemon and those before it. */
type UsageReport = Partial<CopilotAccount> & {
  readonly totals: UsageTotals
  readonly codex?: PlanUse | undefined
  readonly demo?: true
  /** Why there is nothing of the account: GitHub does not tell it to this kind of token, or, with `?partial=true`, a failure. */
  readonly problem?: string
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
    ...(deps.isConfigRefused() && { config: 'invalid' }),
    ...(deps.demo && { demo: true }),
  }))

  app.get('/readyz', { config: { public: true } }, () => {
    // One provider that answers is enough to be of use.
    if (deps.tokenStatus().state === 'ok' || deps.codexStatus()?.state === 'ok') return { ok: true }
    // Not the reason itself: GitHub's words can name the account, and this is told to anybody.
    const fix = 'copilot-proxy status says why; copilot-proxy login logs in.'
    throw new Fault({ kind: 'copilot_unavailable', detail: 'No Copilot and no Codex login can be used now', fix })
  })

  app.get('/usage', (request, reply) =>
    whileCallerStays(deps, request, reply, async (signal): Promise<UsageReport> => {
      const account = await deps.account(signal).catch((error: unknown) => {
        if (signal.aborted || !isPartial(request)) throw error
        return { problem: deps.redact(toChatError(toFault(error).error, request.id).error.message) }
      })
      const nowMs = deps.now()
      const resetsAt = 'resetsAt' in account ? account.resetsAt : undefined
      const totals = toTotals(deps.totals.since(firstDay(nowMs)), nowMs, resetsAt)
      return { ...account, codex: deps.planUse(), totals, ...(deps.demo && { demo: true }) }
    }),
  )

  // Names and hashes of what was sent, and nothing of its content.
  app.get('/cache', () => ({ on: deps.config().log.cacheDiagnostics, sessions: deps.cacheWatch.sessions() }))

  app.get('/metrics', (_request, reply) => {
    const { metrics, admission } = deps
    const text = metrics.render({ active: admission.active(), queued: admission.queued(), version, nodeVersion })
    return reply.type(expositionType).send(text)
  })
}

/** `?partial=true`: totals are worth having where the account cannot be asked. */
function isPartial({ url }: FastifyRequest): boolean {
  return new URLSearchParams(url.split('?', 2)[1]).get('partial') === 'true'
}

function codexHealth(status: CodexLoginStatus | undefined): { readonly codex?: 'ok' | 'unavailable' } {
  const isConfigured = status?.recordId !== undefined || (status?.source ?? 'login') !== 'login'
  if (status === undefined || !isConfigured) return {}
  return { codex: status.state === 'ok' ? 'ok' : 'unavailable' }
}
