import type { FastifyInstance } from 'fastify'
import { createSharedFetch } from '../../auth/shared-fetch.ts'
import { toFault } from '../../errors.ts'
import type { ProviderCheck, SelfCheck } from '../../api/state.ts'
import type { Executor, ProviderId } from '../../executors/executor.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import type { Lifetimes } from '../lifetimes.ts'
import { isCodexConfigured } from './state-routes.ts'
import type { StateDeps } from './state-routes.ts'

export interface SelfCheckDeps extends Pick<StateDeps, 'codexStatus' | 'redact'> {
  readonly lifetimes: Lifetimes
  readonly accessOf: (key: undefined) => { readonly executorOf: (provider: ProviderId) => Pick<Executor, 'listModels'> }
  /** Hashes of this process's network variables, keyed with the owner's token: nobody else can guess values by them. */
  readonly networkFingerprints: Readonly<Record<string, string>>
}

/** For the token and the list of models. Ms. */
const limitMs = 15_000
/** Callers in a row share one check. Ms. */
const keptMs = 1000

/**
 * `GET /self-check`: asks each provider from here, so that `doctor` learns what this process can reach. Only the owner gets
 * the fingerprints.
 */
export function registerSelfCheck(app: FastifyInstance, deps: SelfCheckDeps): void {
  async function check(provider: ProviderId): Promise<ProviderCheck> {
    const deadline = AbortSignal.timeout(limitMs)
    try {
      await deps.accessOf(undefined).executorOf(provider).listModels({ signal: deadline })
      return { ok: true }
    } catch (error) {
      if (deadline.aborted) return { ok: false, reason: `No answer within ${limitMs / 1000} seconds.` }
      return { ok: false, reason: deps.redact(toOpenAiError(toFault(error).error, '').error.message) }
    }
  }

  const checks = createSharedFetch({
    async fetch() {
      const hasCodex = isCodexConfigured(deps.codexStatus())
      const [copilot, codex] = await Promise.all([check('copilot'), hasCodex ? check('codex') : undefined])
      return { copilot, ...(codex && { codex }) }
    },
    monotonicMs: () => performance.now(),
    keepMs: keptMs,
    keepFailureMs: keptMs,
  })

  app.get('/self-check', (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
      const providers = await checks.get(signal)
      const own = request.caller.isOwner ? { variables: deps.networkFingerprints } : {}
      return reply.header('cache-control', 'no-store').send({ ...providers, ...own } satisfies SelfCheck)
    }),
  )
}
