import { version as nodeVersion } from 'node:process'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maySee } from '../../config/caller.ts'
import type { CallerKey } from '../../config/caller.ts'
import { Fault, toFault } from '../../errors.ts'
import type { CacheReport, Greeting, Health, Readiness } from '../../api/state.ts'
import type { Budget, UsageReport } from '../../api/usage.ts'
import type { CodexLoginStatus } from '../../auth/codex/credentials.ts'
import type { PlanUse } from '../../auth/codex/plan-use.ts'
import type { CopilotTokenStatus } from '../../auth/copilot/token.ts'
import type { CopilotAccount, UnreportedAccount } from '../../auth/copilot/quota.ts'
import { firstDay, toTotals } from '../../usage/periods.ts'
import type { UsageRecorder } from '../../usage/recorder.ts'
import { snakeKeys } from '../../json/key-case.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import type { Config } from '../../config/schema.ts'
import type { Admission } from '../../pipeline/admission.ts'
import type { CacheWatch } from '../../pipeline/cache-watch.ts'
import { expositionType } from '../../usage/exposition.ts'
import type { Metrics } from '../../usage/metrics.ts'
import type { Lifetimes } from '../lifetimes.ts'

export interface StateDeps {
  readonly lifetimes: Lifetimes
  readonly version: string
  /** Answers come from the simulated Copilot. */
  readonly demo: boolean
  readonly tokenStatus: () => CopilotTokenStatus
  /** Undefined if Codex is switched off. */
  readonly codexStatus: () => CodexLoginStatus | undefined
  /** Use of the ChatGPT plan; undefined before the first answer with its headers. */
  readonly planUse: () => PlanUse | undefined
  /** Whether the configuration file is invalid, so that earlier settings stay in force. */
  readonly isConfigRefused: () => boolean
  /** @throws Fault; the signal's reason on abort */
  readonly account: (signal: AbortSignal, key?: CallerKey) => Promise<CopilotAccount | UnreportedAccount>
  readonly totals: Pick<UsageRecorder, 'since'>
  /** The owner's budgets. */
  readonly budgets: () => readonly Budget[]
  readonly metrics: Pick<Metrics, 'render'>
  /** Sends the page of workspaces; undefined: there is none. */
  readonly sendPage: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined
  readonly admission: Pick<Admission, 'active' | 'queued'>
  readonly cacheWatch: Pick<CacheWatch, 'sessions'>
  readonly config: () => Config
  /** Removes known credentials from error messages. */
  readonly redact: (text: string) => string
  /** Ms since epoch. */
  readonly now: () => number
}

/** Health, usage and metrics routes. None returns a credential, a path or an account name. */
export function registerStateRoutes(app: FastifyInstance, deps: StateDeps): void {
  const { version } = deps

  app.get('/healthz', { config: { public: true, always: true } }, (): Health => ({
    ok: true,
    copilot: deps.tokenStatus().state === 'ok' ? 'ok' : 'unavailable',
    // Without a Codex login or key the field is absent.
    ...codexHealth(deps.codexStatus()),
    version,
    ...(deps.isConfigRefused() && { config: 'invalid' }),
    ...(deps.demo && { demo: true }),
  }))

  // Clients probe these: the base URL itself, and Claude Code `HEAD /api/hello`.
  const greeting: Greeting = { ok: true, name: 'copilot-proxy' }
  app.get('/api/hello', { config: { public: true, always: true } }, () => greeting)
  app.get(
    '/',
    { config: { public: true, always: true } },
    (request, reply) => deps.sendPage(request, reply) ?? greeting,
  )

  app.get('/readyz', { config: { public: true } }, (): Readiness => {
    // Ready if one provider is available.
    if (deps.tokenStatus().state === 'ok' || deps.codexStatus()?.state === 'ok') return { ok: true }
    // The reason stays out: GitHub's message can name the account, and this route needs no key.
    const fix = 'Run: copilot-proxy login (if you are already logged in: copilot-proxy status)'
    throw new Fault({ kind: 'copilot_unavailable', detail: 'Neither Copilot nor Codex is available', fix })
  })

  async function accountOf(
    { caller, id }: FastifyRequest,
    signal: AbortSignal,
    isPartial: boolean,
  ): Promise<Partial<CopilotAccount> & { readonly problem?: string; readonly problemCode?: string }> {
    try {
      return await deps.account(signal, caller.key)
    } catch (error) {
      if (signal.aborted || !isPartial) throw error
      const { message, code } = toOpenAiError(toFault(error).error, id).error
      return { problem: deps.redact(message), ...(code !== null && { problemCode: code }) }
    }
  }

  app.get('/usage', (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
      const { isPartial, wantsAccount } = usageQuery(request)
      const account = wantsAccount ? await accountOf(request, signal, isPartial) : {}
      const nowMs = deps.now()
      const resetsAt = 'resetsAt' in account ? account.resetsAt : undefined
      const tallies = deps.totals.since(firstDay(nowMs))
      const own = tallies.filter(({ keyId }) => maySee(request.caller, keyId === '' ? undefined : keyId))
      const totals = toTotals(own, nowMs, resetsAt)
      return snakeKeys({
        ...account,
        codex: deps.planUse(),
        totals,
        ...(maySee(request.caller, undefined) && { budgets: deps.budgets() }),
        ...(deps.demo && { demo: true }),
      }) satisfies UsageReport
    }),
  )

  // Names and hashes of prompt segments, never content.
  app.get('/cache', ({ caller }): CacheReport =>
    snakeKeys({ on: deps.config().log.cacheDiagnostics, sessions: deps.cacheWatch.sessions(caller) }),
  )

  app.get('/metrics', ({ caller }, reply) => {
    const { metrics, admission } = deps
    const text = metrics.render({
      // The names and the use of other keys are not for a key.
      withKeys: maySee(caller, undefined),
      active: admission.active(),
      queued: admission.queued(),
      version,
      nodeVersion,
    })
    return reply.type(expositionType).send(text)
  })
}

/** `?partial=true`: answer with the totals even if the account request fails. `?account=false`: with nothing else. */
function usageQuery({ url }: FastifyRequest): { readonly isPartial: boolean; readonly wantsAccount: boolean } {
  const query = new URLSearchParams(url.split('?', 2)[1])
  return { isPartial: query.get('partial') === 'true', wantsAccount: query.get('account') !== 'false' }
}

function codexHealth(status: CodexLoginStatus | undefined): { readonly codex?: 'ok' | 'unavailable' } {
  return isCodexConfigured(status) ? { codex: status?.state === 'ok' ? 'ok' : 'unavailable' } : {}
}

/** Whether Codex has a login or a key. */
export function isCodexConfigured(status: CodexLoginStatus | undefined): boolean {
  return status?.recordId !== undefined || (status?.source ?? 'login') !== 'login'
}
