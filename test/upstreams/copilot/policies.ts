import { failure, modelNotSupported } from './failures.ts'
import { jsonReply, textReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'
import { parseList } from './owners.ts'
import { MODELS } from './models.ts'

/** The models whose terms an account has accepted, by its GitHub token. */
export interface Policies {
  /** `POST /models/ID/policy`: the body is empty, as of the CLI, or `{"status":"enabled"}`. */
  readonly accept: (githubToken: string, path: string, body: string) => Outcome
  /** The model list with the policies of the account. */
  readonly apply: (githubToken: string, reply: Outcome) => Outcome
}

export function createPolicies(): Policies {
  const accepted = new Map<string, Set<string>>()
  return {
    accept(githubToken, path, body) {
      const id = decodeURIComponent(path.split('/')[2] ?? '')
      const model = MODELS.find(id)
      if (model === undefined) return modelNotSupported()
      const { policy } = model.row
      // Source: docs/copilot-wire.md, "Models". The texts of these refusals are made up.
      if (policy === undefined) return failure(400, { message: `model ${id} has no policy`, code: '' })
      if (policy === 'pending') return textReply(403, 'only an administrator of the organization can enable this model')
      if (body !== '' && body !== '{"status":"enabled"}') return failure(400, { message: 'invalid status', code: '' })
      accepted.set(githubToken, (accepted.get(githubToken) ?? new Set()).add(id))
      return jsonReply(200, { state: 'enabled' })
    },
    apply(githubToken, reply) {
      const open = accepted.get(githubToken)
      const list = open === undefined ? undefined : parseList(reply)
      if (reply.kind !== 'whole' || list === undefined) return reply
      for (const entry of list.data) if (open?.has(entry.id)) entry['policy'] = { state: 'enabled' }
      return { ...reply, body: JSON.stringify(list) }
    },
  }
}
