import { z } from 'zod'
import type { Body } from './body.ts'

const untilThen = {
  /** ISO 8601. Null: unknown, or past. */
  expires_at: z.string().nullable(),
}

const codexStatus = z.object({
  /** `codex.enabled`. */
  enabled: z.boolean(),
  login: z
    .object({
      source: z.enum(['record', 'codex-cli', 'api-key']),
      account: z.string().nullable(),
      /** OpenAI's own name of the plan. */
      plan: z.string().nullable(),
      /** The file of the login. */
      record: z.string().nullable(),
    })
    .nullable(),
  /** Why the login cannot be read. A sentence. */
  problem: z.string().nullable(),
  /** What to do without a login. Sentences. */
  advice: z.string().nullable(),
  token: z.object({ state: z.enum(['usable', 'expired', 'none']), ...untilThen }),
})
export type CodexStatus = Body<typeof codexStatus>

/** `GET /status`: the logins as they are stored, with the paths of their files. No credential. */
export const loginStatus = z.object({
  /** The login of Copilot. */
  login: z
    .object({
      /** `environment`: COPILOT_GITHUB_TOKEN. */
      source: z.enum(['record', 'environment']),
      account: z.string().nullable(),
      /** The address of GitHub. */
      host: z.string().nullable(),
      plan: z.string().nullable(),
      sku: z.string().nullable(),
      /** The file of the login. */
      record: z.string().nullable(),
    })
    .nullable(),
  /** Why the login of Copilot cannot be read. A sentence. */
  problem: z.string().nullable(),
  /** `auth.store`. */
  store: z.enum(['file', 'keychain']),
  /** `direct`: the login itself is sent to Copilot. `none`: the first request gets one. */
  token: z.object({ state: z.enum(['usable', 'expired', 'direct', 'none']), ...untilThen }),
  codex: codexStatus,
})
export type LoginStatus = Body<typeof loginStatus>

/** `copilot-proxy status --json`: the logins, and what the command finds on this machine. */
export const statusReport = loginStatus.extend({
  version: z.string(),
  daemon: z.object({
    url: z.string(),
    running: z.boolean(),
    /** Null, here and below: it does not run, or does not state it. */
    version: z.string().nullable(),
    copilot: z.string().nullable(),
    codex: z.string().nullable(),
    demo: z.boolean().nullable(),
    /** What it says to the key that commands send. Null also if it needs none. */
    caller_key: z.enum(['ok', 'missing', 'wrong']).nullable(),
    config: z.enum(['ok', 'invalid']).nullable(),
  }),
  /** The sources of tools that failed in the daemon. */
  tool_failures: z.array(z.object({ source: z.string(), reason: z.string() })),
  /** The process in the background. */
  background: z
    .object({
      pid: z.number(),
      url: z.string(),
      version: z.string(),
      started_at: z.string(),
      starter: z.enum(['detach', 'service']),
      log: z.string(),
    })
    .nullable(),
  config: z.object({
    path: z.string(),
    exists: z.boolean(),
    valid: z.boolean(),
    problems: z.array(z.object({ source: z.string(), key: z.string(), detail: z.string() })),
  }),
})
export type StatusReport = Body<typeof statusReport>

/** `GET /accounts`: the stored GitHub accounts. */
export const accountList = z.object({
  accounts: z.array(
    z.object({
      name: z.string(),
      host: z.string(),
      /** Requests of keys without an account of their own use it. */
      in_use: z.boolean(),
      /** The keys whose account it is. */
      keys: z.array(z.string()),
    }),
  ),
  /** COPILOT_GITHUB_TOKEN is set, so that no stored account is in use. */
  environment_token: z.boolean(),
})
export type AccountList = Body<typeof accountList>
