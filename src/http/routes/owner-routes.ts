import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { codeInput, tokenInput } from '../../api/inputs.ts'
import type { CallerReport } from '../../api/state.ts'
import type { Allowance } from '../../api/usage.ts'
import type { Caller } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import { addressIdentity } from '../access/caller-identity.ts'
import { crowdSeconds } from '../access/failed-keys.ts'
import type { FailedKeys } from '../access/failed-keys.ts'
import type { CreditLimit } from '../access/key-limits.ts'
import type { OwnerAccess } from '../access/owner-access.ts'
import { readBody } from '../body.ts'
import type { Lifetimes } from '../lifetimes.ts'
import { parseJson } from '../../json/json.ts'

export interface OwnerRouteDeps {
  readonly owner: Pick<OwnerAccess, 'addCode' | 'redeem'>
  readonly creditLimit: Pick<CreditLimit, 'budgets' | 'liftToday'>
  readonly failedKeys: FailedKeys
  /** Whether there is a workspace, so that the page shows sessions. */
  readonly hasSessions: () => boolean
  readonly lifetimes: Lifetimes
  /** The longest time between two pieces of a request body. Ms. */
  readonly uploadIdleMs: number
  readonly setTimer: (run: () => void, delayMs: number) => unknown
}

/** For a person to open the page. Ms. */
const codeLifeMs = 10 * 60_000

const maxBodyBytes = 4096

/**
 * What only the owner may do. Two routes make a page the owner's. The command `page` invents a one-time code and registers it with the owner's token;
 * the page invents a token and registers it with the code. So no answer contains a credential.
 */
export function registerOwnerRoutes(app: FastifyInstance, deps: OwnerRouteDeps): void {
  const config = { dialect: 'chat' } as const

  /** Tells a page and a program who they are. */
  app.get('/caller', { config }, ({ caller: { key, isOwner } }, reply) =>
    reply
      .header('cache-control', 'no-store')
      .send({ key: key?.name ?? null, owner: isOwner, sessions: deps.hasSessions() } satisfies CallerReport),
  )

  // A key, a tool of a workspace or a program on this machine must not lift the owner's budget.
  app.post('/usage/allow', { config }, ({ caller }): Allowance => {
    requireOwner(caller)
    deps.creditLimit.liftToday()
    return { budgets: deps.creditLimit.budgets() }
  })

  app.post('/page/codes', { config }, (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
      requireOwner(request.caller)
      const { code } = await readSecrets(request, signal, codeInput, '{"code": …}')
      deps.owner.addCode(code, codeLifeMs)
      return reply.code(204).send()
    }),
  )

  // Public: the code takes the place of a key. No answer repeats anything of the request.
  // Another user of this machine can read the command line that opens the browser, and with it the code.
  app.post('/page/tokens', { config: { ...config, public: true, checksPeer: true } }, (request, reply) =>
    deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
      const { code, token } = await readSecrets(request, signal, tokenInput, '{"code": …, "token": …}')
      const source = addressIdentity(request.raw.socket.remoteAddress)
      // As for keys: while many guesses are delayed, a right one must not be answered differently.
      if (deps.failedKeys.isCrowded(source)) throw new Fault({ kind: 'wrong_keys', retryAfterSeconds: crowdSeconds })
      if (deps.owner.redeem(code, token)) return reply.code(204).send()
      const waitMs = deps.failedKeys.count(source)
      // Also if the caller hangs up: its delayed answer stays counted.
      if (waitMs > 0) await new Promise<void>((resolve) => void deps.setTimer(resolve, waitMs))
      throw new Fault({
        kind: 'forbidden',
        detail:
          'this address of the page was used before, has expired or is wrong; for a new one, run: copilot-proxy page',
      })
    }),
  )

  async function readSecrets<Body>(
    { headers, raw }: FastifyRequest,
    signal: AbortSignal,
    schema: z.ZodType<Body>,
    form: string,
  ): Promise<Body> {
    // The refusal of an unknown encoding repeats its name, and a public route must not do that.
    if (headers['content-encoding'] !== undefined) {
      throw new Fault({ kind: 'unsupported_media_type', detail: 'send the body without content-encoding' })
    }
    const { text } = await readBody(raw, { limitBytes: maxBodyBytes, idleMs: deps.uploadIdleMs, signal })
    const body = schema.safeParse(parseJson(text)).data
    if (body !== undefined) return body
    throw new Fault({
      kind: 'invalid_request',
      path: '',
      detail: `the body must be ${form} of 43 to 128 characters each`,
    })
  }
}

/** @throws Fault `session_refused` */
export function requireOwner({ isOwner }: Caller): void {
  if (!isOwner) throw new Fault({ kind: 'session_refused', problem: 'owner_required' })
}
