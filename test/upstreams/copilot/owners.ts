import { z } from 'zod'
import type { Outcome } from '../http/outcome.ts'

const tokenBody = z.looseObject({ token: z.string() })
const modelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) })

/** Knows which GitHub token each Copilot token was exchanged for. */
export interface TokenOwners {
  /** The GitHub token behind an `authorization` header: its own token, or the one that was exchanged for it. */
  readonly of: (authorization: string | undefined) => string
  /** Reads the reply of a token exchange. */
  readonly note: (authorization: string | undefined, reply: Outcome) => void
}

function bearer(authorization = ''): string {
  return authorization.replace(/^\w+ /, '')
}

export function createTokenOwners(): TokenOwners {
  const owners = new Map<string, string>()
  return {
    of: (authorization) => owners.get(bearer(authorization)) ?? bearer(authorization),
    note(authorization, reply) {
      const { token } = (reply.kind === 'whole' && tokenBody.safeParse(parse(reply.body)).data) || {}
      if (token !== undefined) owners.set(token, bearer(authorization))
    },
  }
}

/** The model list without the models that the account lacks. */
export function withoutModels(reply: Outcome, lacks: (model: string) => boolean): Outcome {
  const list = parseList(reply)
  if (reply.kind !== 'whole' || list === undefined) return reply
  return { ...reply, body: JSON.stringify({ ...list, data: list.data.filter(({ id }) => !lacks(id)) }) }
}

export function parseList(reply: Outcome): z.infer<typeof modelList> | undefined {
  return reply.kind === 'whole' ? modelList.safeParse(parse(reply.body)).data : undefined
}

function parse(body: string | Uint8Array): unknown {
  try {
    return JSON.parse(String(body))
  } catch {
    return undefined
  }
}
