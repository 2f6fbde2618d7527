import type { ErrorBody } from './error-body.ts'

/** A refusal explained to a person: a stable name, and the one action that helps. */
export interface Advice {
  /** The code of a refusal without one. */
  readonly code?: string
  /** Our own sentences. */
  readonly advice: string
  /** The limit that was reached. Its header gives the reset if `retry-after` does not. */
  readonly limit?: 'month' | 'week' | 'session' | undefined
}

const billingPage = 'https://github.com/settings/billing'
const plansPage = 'https://github.com/settings/copilot'
const featuresPage = 'https://github.com/settings/copilot/features'
const bySeat = '(if your organization pays for Copilot, ask its administrator)'
const configFile = '(to find the file, run: copilot-proxy config path)'

const policyOff = `If its policy is off, run: copilot-proxy models enable MODEL – or enable it at ${featuresPage} ${bySeat}.`
const spendLimit = `Raise the spending limit at ${billingPage} ${bySeat}.`
const severalLicences = `If several organizations or enterprises give you Copilot, choose one at ${featuresPage}.`
const busyProvider = 'The model’s provider is overloaded. Try again in a moment.'
const openaiCredit = 'Add credit at https://platform.openai.com/settings/organization/billing.'
const openaiLimit = 'Raise the limit at https://platform.openai.com/settings/organization/limits.'
const otherWorkspace = 'Log in to another workspace: copilot-proxy login codex'

/** By upstream's code or type. Sources: docs/copilot-wire.md and docs/codex-wire.md, "Errors". */
const named: ReadonlyMap<string, string> = new Map([
  ['quota_exceeded', `To continue now, allow paid use at ${billingPage}.`],
  ['free_quota_exceeded', `To continue now, start a paid plan at ${plansPage}.`],
  ['overage_limit_reached', spendLimit],
  ['additional_spend_limit_reached', spendLimit],
  ['billing_not_configured', severalLicences],
  ['custom_billing_not_configured', severalLicences],
  ['session_quota_exceeded', 'The quota of this session is used up. Start a new session.'],
  ['model_not_available_for_integrator', 'Choose another model; to list them, run: copilot-proxy models'],
  ['model_degraded', busyProvider],
  ['unsupported_tier', `Your plan does not have this tier of the model. Plans: ${plansPage}`],
  [
    'user_weekly_rate_limited',
    'This is the weekly limit, not the monthly quota. Wait until it resets; retrying sooner extends it.',
  ],
  [
    'user_global_rate_limited',
    'This is the five-hour session limit. Wait until it resets; retrying sooner extends it.',
  ],
  ['user_model_rate_limited', 'The limit applies to this model only. To choose another one, run: copilot-proxy models'],
  ['rate_limited', 'Too many requests in a short time. Wait; retrying sooner extends the limit.'],
  [
    'integration_rate_limited',
    'The limit applies to copilot.headers.copilot-integration-id, not to your account. Try again later.',
  ],
  ['model_overloaded', busyProvider],
  ['overloaded_error', busyProvider],
  ['upstream_provider_rate_limit', busyProvider],
  ['agent_mode_limit_exceeded', `The limit applies to agents. Larger plans have a higher limit: ${plansPage}`],
  ['model_not_supported', policyOff],
  ['no_available_model_endpoints', policyOff],
  ['usage_limit_reached', 'To continue now, buy credits at https://chatgpt.com/codex/settings/usage'],
  ['usage_not_included', 'Log in with another account: copilot-proxy login codex'],
  ['deactivated_workspace', otherWorkspace],
  ['invalid_workspace_selected', otherWorkspace],
  ['insufficient_quota', openaiCredit],
  ['credit_balance_exhausted', openaiCredit],
  ['billing_hard_limit_reached', openaiLimit],
  ['organization_spend_limit_exceeded', openaiLimit],
  ['project_spend_limit_exceeded', openaiLimit],
  ['organization_usage_limit_exceeded', openaiLimit],
])

const limitOf: ReadonlyMap<string, Advice['limit']> = new Map([
  ['quota_exceeded', 'month'],
  ['free_quota_exceeded', 'month'],
  ['user_weekly_rate_limited', 'week'],
  ['user_global_rate_limited', 'session'],
])

/** The advice for a code or type of either upstream; it may carry a plan after a colon. */
export function adviceOfName(name = ''): Advice | undefined {
  const [code = ''] = name.split(':', 1)
  const advice = named.get(code)
  return advice === undefined ? undefined : { advice, limit: limitOf.get(code) }
}

const oldEditor: Advice = {
  code: 'editor_version_refused',
  advice: `Set copilot.headers.editor-version in the configuration to a current editor, such as vscode/1.126.0 ${configFile}.`,
}

/**
 * Copilot refusals with a message and without a code. Source: docs/copilot-wire.md, "Errors"; that a refusal by policy
 * says `policy` is a guess.
 */
const worded: readonly (readonly [statuses: readonly number[], words: RegExp, code: string, advice: string])[] = [
  [[400], /editor-version/i, 'editor_version_refused', oldEditor.advice],
  [
    [400, 403],
    /copilot-integration-id/i,
    'integration_id_refused',
    `Set copilot.headers.copilot-integration-id in the configuration to an id that GitHub knows, such as vscode-chat ${configFile}.`,
  ],
  [
    [400],
    /personal access tokens are not supported/i,
    'personal_token_refused',
    'Log in with a code instead: copilot-proxy login',
  ],
  [[400], /authorization header is badly formatted/i, 'authorization_refused', 'Log in again: copilot-proxy login'],
  [
    [400],
    /missing required copilot-vision-request/i,
    'vision_refused',
    'Ask the administrator of your organization to allow images.',
  ],
  [[403], /not authorized to use this copilot feature/i, 'feature_refused', `Enable it at ${featuresPage} ${bySeat}.`],
  [
    [403],
    /endpoint is forbidden/i,
    'endpoint_refused',
    `If the model supports chat, set copilot.upstream-dialect: chat in the configuration ${configFile}.`,
  ],
  [[403], /valid copilot license/i, 'license_missing', `Start a plan, or ask for a seat: ${plansPage}`],
  [[403], /trials? .{0,40}paused/i, 'trial_paused', `Start a paid plan at ${plansPage}.`],
  [
    [403],
    /\bpolic(?:y|ies)\b/i,
    'policy_refused',
    `Ask the administrator of your organization to allow it, or see ${featuresPage}.`,
  ],
  [
    [466],
    /api version/i,
    'api_version_refused',
    `Set copilot.headers.x-github-api-version in the configuration to a newer one, such as '2026-08-01' ${configFile}.`,
  ],
]

const inVainThere: Advice = { advice: 'Try again in a moment; https://www.githubstatus.com shows known incidents.' }

/** For refusals whose code and message are unknown. */
const byStatus: ReadonlyMap<number, Advice> = new Map([
  [402, { advice: `See your quota and paid use at ${billingPage}` }],
  [413, { code: 'request_too_large', advice: 'Send less: fewer or smaller images, or a shorter conversation.' }],
  [421, { code: 'misdirected_request', advice: 'To get the right address, log in again: copilot-proxy login' }],
  [429, { advice: 'Wait before you retry; retrying sooner extends the limit.' }],
  [466, oldEditor],
  [500, inVainThere],
  [502, inVainThere],
  [503, inVainThere],
  [504, inVainThere],
])

/** The advice for a Copilot refusal, by its code, its message and its status, in this order. */
export function adviceOfCopilot(status: number, { code, type, message = '' }: Partial<ErrorBody>): Advice | undefined {
  const byWords = worded.find(([statuses, words]) => statuses.includes(status) && words.test(message))
  return (
    adviceOfName(code) ??
    (byWords && { code: byWords[2], advice: byWords[3] }) ??
    adviceOfName(type) ??
    byStatus.get(status)
  )
}
