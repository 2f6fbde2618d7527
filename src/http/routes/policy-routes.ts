import type { FastifyInstance } from 'fastify'
import { policyInput } from '../../api/policies.ts'
import type { PolicyList } from '../../api/policies.ts'
import { Fault } from '../../errors.ts'
import type { Executor } from '../../executors/executor.ts'
import { enableModel, parseModelPolicies } from '../../models/model-policy.ts'
import { readBody } from '../body.ts'
import type { Lifetimes } from '../lifetimes.ts'
import type { RefreshModels } from './model-routes.ts'
import { requireOwner } from './owner-routes.ts'
import { parseJson } from '../../json/json.ts'

export interface PolicyRouteDeps {
  readonly lifetimes: Lifetimes
  /** Of the account in use. @throws Fault */
  readonly executor: () => Pick<Executor, 'json' | 'listModels'>
  readonly refreshModels: RefreshModels
  readonly randomId: () => string
  /** The longest time between two pieces of a request body. Ms. */
  readonly uploadIdleMs: number
}

const maxBodyBytes = 4096

/** The models that GitHub opens to an account only once it has accepted their terms. For the owner: terms bind the account. */
export function registerPolicyRoutes(app: FastifyInstance, deps: PolicyRouteDeps): void {
  const config = { dialect: 'chat' } as const

  async function closedModels(signal: AbortSignal): Promise<PolicyList['models']> {
    return parseModelPolicies(await deps.executor().listModels({ signal })).flatMap(({ id, state, terms }) =>
      state === undefined || state === 'enabled' ? [] : [{ id, state, terms: terms ?? null }],
    )
  }

  app.get('/policies', { config }, (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal): Promise<PolicyList> => {
      requireOwner(request.caller)
      return { models: await closedModels(signal) }
    }),
  )

  app.post('/policies', { config }, (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
      requireOwner(request.caller)
      const limits = { limitBytes: maxBodyBytes, idleMs: deps.uploadIdleMs, signal }
      const body = policyInput.safeParse(parseJson((await readBody(request.raw, limits)).text)).data
      const model = (await closedModels(signal)).find(({ id }) => id === body?.model)
      if (model === undefined) {
        const detail = 'must be a model of GET /policies. All others are enabled already, or not offered to the account'
        throw new Fault({ kind: 'invalid_request', path: 'model', detail, code: 'invalid_value' })
      }
      await enableModel(deps.executor(), model.id, { requestId: deps.randomId(), signal })
      await deps.refreshModels(signal)
      return reply.code(204).send()
    }),
  )
}
