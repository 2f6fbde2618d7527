import { z } from 'zod'

/**
 * One account, as stored in `auth/<id>.json`. `attributes` is the user's configuration, `metadata` is what login and
 * refresh learned. Unknown keys survive a rewrite, so that an older program does not lose a newer one's data.
 */
export const copilotRecord = z.looseObject({
  id: z.string().min(1),
  provider: z.literal('copilot'),
  label: z.string(),
  attributes: z.looseObject({ base_url: z.string().optional() }),
  metadata: z.looseObject({
    /** Of the device flow or `--token-stdin`; does not expire by itself. */
    github_access_token: z.string().min(1),
    /** The short-lived Copilot token of the last exchange. */
    access_token: z.string().optional(),
    /** Seconds since epoch, by upstream's clock. */
    expires_at: z.number().optional(),
    /** Seconds from `obtained_at` after which upstream wants a new exchange. */
    refresh_in: z.number().optional(),
    /** Seconds since epoch, by this machine's clock. */
    obtained_at: z.number().optional(),
    /** `endpoints.api` of the last token reply. */
    base_url: z.string().optional(),
    login: z.string().optional(),
    sku: z.string().optional(),
    /** Where this account lives, e.g. `https://github.com` or `https://SUB.ghe.com`. */
    github_base_url: z.string().optional(),
    github_api_base_url: z.string().optional(),
    /** Seconds since epoch; the newest login is the account in use. */
    logged_in_at: z.number().optional(),
  }),
})
export type CopilotRecord = z.infer<typeof copilotRecord>
