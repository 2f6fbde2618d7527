import { z } from 'zod'

/**
 * One account, as stored in `auth/<id>.json`. `attributes` holds the user's configuration; `metadata` holds the results
 * of login and refresh. Unknown keys survive a rewrite, so that an older program does not lose a newer one's data.
 */
export const copilotRecord = z.looseObject({
  id: z.string().min(1),
  provider: z.literal('copilot'),
  label: z.string(),
  attributes: z.looseObject({ base_url: z.string().optional() }),
  metadata: z.looseObject({
    /** From the device flow or `--token-stdin`. It has no expiry. */
    github_access_token: z.string().min(1),
    /**
     * The short-lived Copilot token of the last exchange, or `github_access_token` again if that is sent to Copilot
     * itself.
     */
    access_token: z.string().optional(),
    /** Seconds since epoch, by upstream's clock. */
    expires_at: z.number().optional(),
    /** Seconds from `obtained_at` after which upstream wants a new exchange. */
    refresh_in: z.number().optional(),
    /** Seconds since epoch, by this machine's clock. */
    obtained_at: z.number().optional(),
    /** `endpoints.api` of the last token reply. */
    base_url: z.string().optional(),
    /** `endpoints.proxy` of the last token reply: the host for code completion. */
    completions_url: z.string().optional(),
    login: z.string().optional(),
    sku: z.string().optional(),
    /** The account's host, e.g. `https://github.com` or `https://SUB.ghe.com`. */
    github_base_url: z.string().optional(),
    github_api_base_url: z.string().optional(),
    /** Seconds since epoch. */
    logged_in_at: z.number().optional(),
    /** When the account was chosen: seconds since epoch. The login or choice that is the newest is the account in use. */
    selected_at: z.number().optional(),
  }),
})
export type CopilotRecord = z.infer<typeof copilotRecord>

/** Copilot gets the GitHub token itself. */
export function isUsedDirectly(metadata: CopilotRecord['metadata']): boolean {
  return metadata.access_token === metadata.github_access_token
}

/**
 * Reply to GET /copilot_internal/v2/token. Only the three required fields are guaranteed, so no other field may make
 * the parse fail. Source: test/fixtures/auth/exchange-full.json and exchange-minimal.json.
 */
export const copilotTokenReply = z.looseObject({
  token: z.string().min(1),
  /** Seconds since epoch, by upstream's clock. */
  expires_at: z.number(),
  /** Seconds from now. */
  refresh_in: z.number(),
  sku: z.string().nullish().catch(null),
  endpoints: z
    .looseObject({ api: z.string().nullish().catch(null), proxy: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
})

/** Error body of GitHub's REST API. Only the Copilot endpoints add `error_details`. */
export const githubErrorBody = z.looseObject({
  message: z.string().nullish().catch(null),
  error_details: z
    .looseObject({
      message: z.string().nullish().catch(null),
      notification_id: z.string().nullish().catch(null),
      url: z.string().nullish().catch(null),
    })
    .nullish()
    .catch(null),
})
export type GithubErrorBody = z.infer<typeof githubErrorBody>

/** Reply to GET /user. */
export const githubUserReply = z.looseObject({ login: z.string().min(1) })

const lenientNumber = z.number().nullish().catch(null)
const lenientString = z.string().nullish().catch(null)
const lenientBoolean = z.boolean().nullish().catch(null)

/** One entry of `quota_snapshots`; test/fixtures/auth/user-premium-requests.json. */
const quotaSnapshot = z.looseObject({
  entitlement: lenientNumber,
  remaining: lenientNumber,
  /** `remaining` with its fraction. */
  quota_remaining: lenientNumber,
  percent_remaining: lenientNumber,
  unlimited: lenientBoolean,
  /** False beside `unlimited`: the account's shared pool is used up (microsoft/vscode, late 2026). */
  has_quota: lenientBoolean,
  overage_count: lenientNumber,
  overage_permitted: lenientBoolean,
  overage_entitlement: lenientNumber,
  credits_used: lenientNumber,
  /** Seconds since epoch; 0 means unknown (kunchenguid/quota-axi#200). */
  quota_reset_at: lenientNumber,
})
export type QuotaSnapshot = z.infer<typeof quotaSnapshot>

const countsByQuota = z.record(z.string(), lenientNumber).nullish().catch(null)

/** Reply to GET /copilot_internal/user. Every field can be absent, and unknown snapshot keys appear. */
export const copilotUserReply = z.looseObject({
  login: lenientString,
  endpoints: z.looseObject({ api: lenientString }).nullish().catch(null),
  copilot_plan: lenientString,
  access_type_sku: lenientString,
  token_based_billing: lenientBoolean,
  quota_snapshots: z.record(z.string(), quotaSnapshot.nullish().catch(null)).nullish().catch(null),
  quota_reset_date: lenientString,
  quota_reset_date_utc: lenientString,
  /** The remainder of the free plan's month. `monthly_quotas` has the totals. */
  limited_user_quotas: countsByQuota,
  monthly_quotas: countsByQuota,
  /** Seconds since epoch or a date; both occur. */
  limited_user_reset_date: z.union([z.number(), z.string()]).nullish().catch(null),
})
export type CopilotUserReply = z.infer<typeof copilotUserReply>
