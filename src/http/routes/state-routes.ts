import { version as nodeVersion } from 'node:process'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maySee } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import type { CacheReport, Greeting, Health, Readiness } from '../../api/state.ts'
import type { CodexLoginStatus } from '../../auth/codex/credentials.ts'
import type { CopilotTokenStatus } from '../../auth/copilot/token.ts'
import { snakeKeys } from '../../json/key-case.ts'
import type { Config } from '../../config/schema.ts'
import type { Admission } from '../../pipeline/admission.ts'
import type { CacheWatch } from '../../pipeline/cache-watch.ts'
import { expositionType } from '../../usage/exposition.ts'
import type { Metrics } from '../../usage/metrics.ts'
import type { Lifetimes } from '../lifetimes.ts'
import { reportUsage } from '../usage-report.ts'
import type { UsageReportDeps } from '../usage-report.ts'

export interface StateDeps extends UsageReportDeps {
  readonly lifetimes: Lifetimes
  readonly version: string
  readonly tokenStatus: () => CopilotTokenStatus
  /** Undefined if Codex is switched off. */
  readonly codexStatus: () => CodexLoginStatus | undefined
  /** Whether the configuration file is invalid, so that earlier settings stay in force. */
  readonly isConfigRefused: () => boolean
  readonly metrics: Pick<Metrics, 'render'>
  /** Sends the page to a browser; undefined for a program. */
  readonly sendPage: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined
  readonly admission: Pick<Admission, 'active' | 'queued'>
  readonly cacheWatch: Pick<CacheWatch, 'sessions'>
  readonly config: () => Config
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

  app.get('/usage', (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, (signal) =>
      reportUsage(deps, { caller: request.caller, url: request.url, requestId: request.id, signal }),
    ),
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

function codexHealth(status: CodexLoginStatus | undefined): { readonly codex?: 'ok' | 'unavailable' } {
  return isCodexConfigured(status) ? { codex: status?.state === 'ok' ? 'ok' : 'unavailable' } : {}
}

/** Whether Codex has a login or a key. */
export function isCodexConfigured(status: CodexLoginStatus | undefined): boolean {
  return status?.recordId !== undefined || (status?.source ?? 'login') !== 'login'
}
