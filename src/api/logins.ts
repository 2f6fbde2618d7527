import { z } from 'zod'
import type { Body } from './body.ts'

/** A login that a person finishes in a browser. */
const loginFlow = z.discriminatedUnion('state', [
  /** The provider has been asked for a code. */
  z.object({ state: z.literal('starting') }),
  z.object({
    state: z.literal('waiting'),
    /** To type at `verification_uri`. */
    user_code: z.string(),
    verification_uri: z.string(),
    /** ISO 8601. */
    expires_at: z.string(),
  }),
  /** The person has agreed; the account is being checked and stored. */
  z.object({ state: z.literal('checking') }),
  z.object({ state: z.literal('done'), account: z.string(), plan: z.string().nullable() }),
  /** A sentence, and what to do. */
  z.object({ state: z.literal('failed'), message: z.string() }),
])
export type LoginFlow = Body<typeof loginFlow>

const providerLogin = z.object({
  /** `ok`: requests use it. Others say why not, with `detail` and `fix`. */
  state: z.enum([
    'starting',
    'ok',
    'expired',
    'login_required',
    'no_access',
    'rate_limited',
    'unreachable',
    'unreadable',
    'off',
  ]),
  detail: z.string(),
  fix: z.string(),
  /** Where the login in use is from. `environment`: COPILOT_GITHUB_TOKEN. */
  source: z.enum(['stored', 'environment', 'codex-cli', 'api-key', 'demo']),
  accounts: z.array(
    z.object({
      name: z.string(),
      /** The one that requests without an account of their own use. */
      used: z.boolean(),
      plan: z.string().nullable(),
    }),
  ),
  /** The login that runs, or how the last one ended. Null if the page started none, and for callers other than the owner. */
  flow: loginFlow.nullable(),
})
export type ProviderLogin = Body<typeof providerLogin>

/** `GET /logins`. No credential, and no path. */
export const loginReport = z.object({
  /** Where logins are stored, in words. */
  stored: z.string(),
  copilot: providerLogin,
  codex: providerLogin,
})
export type LoginReport = Body<typeof loginReport>

/** `DELETE /logins/{provider}`: the account that was deleted, and the one in use now. Null: there was none, or there is none. */
export const logoutReport = z.object({ account: z.string().nullable(), next: z.string().nullable() })
export type LogoutReport = Body<typeof logoutReport>
