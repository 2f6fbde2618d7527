import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { isHeaderSafe } from '../http-json.ts'
import { parseJson } from '../../json/json.ts'

/** The claims of a ChatGPT login's token. They are not verified here, because upstream verifies the token. */
export interface CodexClaims {
  /** Value of the header `chatgpt-account-id`. */
  readonly accountId?: string
  readonly userId?: string
  readonly email?: string
  /** An open set, shown as received. */
  readonly plan?: string
  readonly isFedramp: boolean
  /** Seconds since epoch, both by upstream's clock. */
  readonly expiresAtSeconds?: number
  readonly issuedAtSeconds?: number
}

/** Longer than any token that upstream issues. Characters. */
const MAX_TOKEN_LENGTH = 64 * 1024
const MAX_TEXT_LENGTH = 320

const text = z.string().min(1).max(MAX_TEXT_LENGTH).nullish().catch(null)
/** Dates are limited to years that `Date` can represent. A value outside is a mistake. */
const seconds = z.number().positive().max(8.64e12).nullish().catch(null)

/** Payload of an id or access token (docs/codex-wire.md, "Login"). */
const payload = z.looseObject({
  email: text,
  exp: seconds,
  iat: seconds,
  'https://api.openai.com/auth': z
    .looseObject({
      chatgpt_account_id: text,
      chatgpt_plan_type: text,
      chatgpt_user_id: text,
      user_id: text,
      chatgpt_account_is_fedramp: z.boolean().nullish().catch(null),
    })
    .nullish()
    .catch(null),
  'https://api.openai.com/profile': z.looseObject({ email: text }).nullish().catch(null),
})

/** The claims of a JWT; no claims for anything else. Never throws. */
export function readClaims(token: string): CodexClaims {
  const parsed = payload.safeParse(readPayload(token))
  if (!parsed.success) return { isFedramp: false }
  const { email: ownEmail, exp, iat } = parsed.data
  const auth = parsed.data['https://api.openai.com/auth']
  const accountId = auth?.chatgpt_account_id
  const userId = auth?.chatgpt_user_id ?? auth?.user_id
  const email = ownEmail ?? parsed.data['https://api.openai.com/profile']?.email
  return {
    ...(accountId && isHeaderSafe(accountId) && { accountId }),
    ...(userId && { userId }),
    ...(email && { email }),
    ...(auth?.chatgpt_plan_type && { plan: auth.chatgpt_plan_type }),
    isFedramp: auth?.chatgpt_account_is_fedramp === true,
    ...(exp && { expiresAtSeconds: exp }),
    ...(iat && { issuedAtSeconds: iat }),
  }
}

/**
 * The account's claims from both tokens of one login. The access token's claims win, because it is the token that is
 * sent. Times come from the access token only.
 */
export function readLoginClaims(accessToken: string, idToken: string | undefined): CodexClaims {
  const access = readClaims(accessToken)
  if (idToken === undefined) return access
  const { expiresAtSeconds: _, issuedAtSeconds: __, ...id } = readClaims(idToken)
  return { ...id, ...access, isFedramp: access.isFedramp || id.isFedramp }
}

function readPayload(token: string): unknown {
  if (token.length > MAX_TOKEN_LENGTH) return undefined
  const [, middle = '', signature] = token.split('.', 3)
  return signature === undefined ? undefined : parseJson(Buffer.from(middle, 'base64url').toString('utf8'))
}
