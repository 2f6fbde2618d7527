import { expect, test } from 'vitest'
import { toCodexFault } from '../../src/executors/codex-fault.ts'
import { toStatusFault } from '../../src/executors/copilot-fault.ts'
import { readErrorBody } from '../../src/upstream-errors/error-body.ts'
import { wordError } from '../../src/translate/engine/error-wording.ts'
import { toStreamFault } from '../../src/translate/engine/reply/stream-fault.ts'
import { asIs } from '../as-is.ts'

/** The body of an error reply of the Copilot API. */
const coded = (code: string, message = 'Words.') => JSON.stringify({ error: { message, code } })
const headers = { 'x-github-request-id': '1A2B:3C' }
const billing = 'https://github.com/settings/billing'
const plans = 'https://github.com/settings/copilot'
const bySeat = '(if your organization pays for Copilot, ask its administrator).'
const file = '(to find the file, run: copilot-proxy config path).'

/** Status, body, `retry-after`; then the code, and the text after upstream's own message. */
const copilot: readonly (readonly [
  status: number,
  body: string,
  retryAfter: string | undefined,
  code: string | undefined,
  said: string,
])[] = [
  [
    402,
    coded('quota_exceeded'),
    'Tue, 01 Dec 2026 00:00:00 GMT',
    'quota_exceeded',
    `It resets at 2026-12-01 00:00 UTC. To continue now, allow paid use at ${billing}.`,
  ],
  [
    402,
    coded('quota_exceeded'),
    undefined,
    'quota_exceeded',
    `To see when it resets, run: copilot-proxy usage. To continue now, allow paid use at ${billing}.`,
  ],
  [
    402,
    coded('free_quota_exceeded'),
    '172800',
    'free_quota_exceeded',
    `It resets in 2 d. To continue now, start a paid plan at ${plans}.`,
  ],
  [
    402,
    coded('overage_limit_reached'),
    undefined,
    'overage_limit_reached',
    `Raise the spending limit at ${billing} ${bySeat}`,
  ],
  [
    402,
    coded('additional_spend_limit_reached'),
    undefined,
    'additional_spend_limit_reached',
    `Raise the spending limit at ${billing} ${bySeat}`,
  ],
  ...['billing_not_configured', 'custom_billing_not_configured'].map(
    (code) =>
      [
        402,
        coded(code),
        undefined,
        code,
        'If several organizations or enterprises give you Copilot, choose one at https://github.com/settings/copilot/features.',
      ] as const,
  ),
  [
    400,
    coded('model_degraded'),
    undefined,
    'model_degraded',
    'The model’s provider is overloaded. Try again in a moment.',
  ],
  [402, 'Words.', undefined, undefined, `See your quota and paid use at ${billing}`],
  [
    429,
    coded('user_weekly_rate_limited'),
    '183600',
    'user_weekly_rate_limited',
    'It resets in 2 d 3 h. This is the weekly limit, not the monthly quota. Wait until it resets; retrying sooner extends it.',
  ],
  [
    429,
    coded('user_global_rate_limited:pro'),
    '2733',
    'user_global_rate_limited:pro',
    'It resets in 46 min. This is the five-hour session limit. Wait until it resets; retrying sooner extends it.',
  ],
  [
    429,
    coded('user_model_rate_limited'),
    '30',
    'user_model_rate_limited',
    'You can retry in 30 s. The limit applies to this model only. To choose another one, run: copilot-proxy models',
  ],
  [
    429,
    JSON.stringify({ message: 'Words.', code: 'rate_limited' }),
    undefined,
    'rate_limited',
    'Too many requests in a short time. Wait; retrying sooner extends the limit.',
  ],
  [
    429,
    coded('integration_rate_limited'),
    undefined,
    'integration_rate_limited',
    'The limit applies to copilot.headers.copilot-integration-id, not to your account. Try again later.',
  ],
  [
    429,
    coded('model_overloaded'),
    undefined,
    'model_overloaded',
    'The model’s provider is overloaded. Try again in a moment.',
  ],
  [
    503,
    coded('upstream_provider_rate_limit'),
    '5',
    'upstream_provider_rate_limit',
    'You can retry in 5 s. The model’s provider is overloaded. Try again in a moment.',
  ],
  [
    429,
    coded('agent_mode_limit_exceeded'),
    undefined,
    'agent_mode_limit_exceeded',
    `The limit applies to agents. Larger plans have a higher limit: ${plans}`,
  ],
  [429, coded('something_new'), '0', 'something_new', 'Wait before you retry; retrying sooner extends the limit.'],
  [
    400,
    'bad request: unknown Editor-Version header for IDE auth',
    undefined,
    'editor_version_refused',
    `Set copilot.headers.editor-version in the configuration to a current editor, such as vscode/1.126.0 ${file}`,
  ],
  [
    400,
    'bad request: missing Editor-Version header for IDE auth',
    undefined,
    'editor_version_refused',
    `Set copilot.headers.editor-version in the configuration to a current editor, such as vscode/1.126.0 ${file}`,
  ],
  [
    400,
    'bad request: unknown Copilot-Integration-Id',
    undefined,
    'integration_id_refused',
    `Set copilot.headers.copilot-integration-id in the configuration to an id that GitHub knows, such as vscode-chat ${file}`,
  ],
  [
    400,
    'bad request: Personal Access Tokens are not supported for this endpoint',
    undefined,
    'personal_token_refused',
    'Log in with a code instead: copilot-proxy login',
  ],
  [
    400,
    'bad request: Authorization header is badly formatted',
    undefined,
    'authorization_refused',
    'Log in again: copilot-proxy login',
  ],
  [
    400,
    coded('', 'missing required Copilot-Vision-Request header for vision requests'),
    undefined,
    'vision_refused',
    'Ask the administrator of your organization to allow images.',
  ],
  [
    400,
    coded('model_not_supported'),
    undefined,
    'model_not_supported',
    `If its policy is off, run: copilot-proxy models enable MODEL – or enable it at https://github.com/settings/copilot/features ${bySeat}`,
  ],
  [
    403,
    'unauthorized: not authorized to use this Copilot feature',
    undefined,
    'feature_refused',
    `Enable it at https://github.com/settings/copilot/features ${bySeat}`,
  ],
  [
    403,
    '{"message":"Access to this endpoint is forbidden."}',
    undefined,
    'endpoint_refused',
    `If the model supports chat, set copilot.upstream-dialect: chat in the configuration ${file}`,
  ],
  [
    403,
    'This API requires a valid Copilot license.',
    undefined,
    'license_missing',
    `Start a plan, or ask for a seat: ${plans}`,
  ],
  [
    403,
    'Copilot Pro trials have been temporarily paused.',
    undefined,
    'trial_paused',
    `Start a paid plan at ${plans}.`,
  ],
  [
    403,
    'access denied by Copilot policy',
    undefined,
    'policy_refused',
    'Ask the administrator of your organization to allow it, or see https://github.com/settings/copilot/features.',
  ],
  [
    403,
    coded('feature_flag_blocked'),
    undefined,
    'feature_flag_blocked',
    'GitHub has not enabled Copilot for this account. Ask your administrator or GitHub support: https://support.github.com.',
  ],
  [
    403,
    '{"message":"Words.","error_details":{"notification_id":"billing_locked"}}',
    undefined,
    'billing_locked',
    'Billing of this account is locked, usually after a failed payment. Update the payment at https://github.com/settings/billing.',
  ],
  [403, 'Words.', undefined, undefined, ''],
  [
    466,
    'bad request: the specified API version is no longer supported. You may need to update your client to a newer version.',
    undefined,
    'api_version_refused',
    `Set copilot.headers.x-github-api-version in the configuration to a newer one, such as '2026-08-01' ${file}`,
  ],
  [
    466,
    'bad request: too old.',
    undefined,
    'editor_version_refused',
    `Set copilot.headers.editor-version in the configuration to a current editor, such as vscode/1.126.0 ${file}`,
  ],
  [
    413,
    'Request Entity Too Large',
    undefined,
    'request_too_large',
    'Send less: fewer or smaller images, or a shorter conversation.',
  ],
  [
    421,
    'Misdirected Request',
    undefined,
    'misdirected_request',
    'To get the right address, log in again: copilot-proxy login',
  ],
  [500, 'Words.', undefined, undefined, 'Try again in a moment; https://www.githubstatus.com shows known incidents.'],
  [400, coded('invalid_request_body'), undefined, 'invalid_request_body', ''],
]

test.each(copilot)('%i %s of Copilot (retry-after %s)', (status, body, retryAfter, code, said) => {
  const { error } = toStatusFault({ status, body, retryAfter, headers }, asIs)
  expect(error).toMatchObject({ kind: 'upstream_status', status })
  const own = readErrorBody(body).message ?? ''
  const words = said === '' ? own : `${own.replace(/(?<![.!?])$/, '.')} ${said}`
  expect(wordError(error, 'ours')).toMatchObject({ message: `${words} (GitHub request id 1A2B:3C)`, code })
})

test.each([
  ['user_weekly_rate_limited', 'x-usage-ratelimit-weekly'],
  ['user_global_rate_limited', 'x-usage-ratelimit-session'],
  ['quota_exceeded', 'x-quota-snapshot-premium_interactions'],
])('the reset of %s is read from %s if no other header states it', (code, name) => {
  const withLimit = { ...headers, [name]: 'ent=300&rem=0.0&rst=2026-12-01T00%3A00%3A00Z' }
  const reply = { status: 429, body: coded(code), retryAfter: undefined, headers: withLimit }
  expect(toStatusFault(reply, asIs).error).toMatchObject({
    advice: expect.stringMatching(/^It resets at 2026-12-01 00:00 UTC\. /),
  })
})

/** Code or type, what its headers say of the limit, and what is to be done. */
test.each([
  ['usage_limit_reached', '', 'To continue now, buy credits at https://chatgpt.com/codex/settings/usage'],
  [
    'usage_limit_reached',
    'workspace_owner_credits_depleted',
    'Buy credits for the workspace at https://chatgpt.com/codex/settings/usage',
  ],
  ['usage_limit_reached', 'workspace_member_usage_limit_reached', 'Ask the owner of the workspace for more credits.'],
  ['usage_not_included', '', 'Log in with another account: copilot-proxy login codex'],
  ['deactivated_workspace', '', 'Log in to another workspace: copilot-proxy login codex'],
  ['invalid_workspace_selected', '', 'Log in to another workspace: copilot-proxy login codex'],
  ['insufficient_quota', '', 'Add credit at https://platform.openai.com/settings/organization/billing.'],
  ['project_spend_limit_exceeded', '', 'Raise the limit at https://platform.openai.com/settings/organization/limits.'],
  ['something_new', '', undefined],
])('%s of Codex (%s)', (code, reached, advice) => {
  const of = { 'x-oai-request-id': 'req_1', ...(reached !== '' && { 'x-codex-rate-limit-reached-type': reached }) }
  const refusal = { status: 418, error: { message: 'Words.', code }, retryAfter: undefined, headers: of }
  const { error } = toCodexFault(refusal, 0, asIs)
  expect('advice' in error ? error.advice : undefined).toBe(advice)
  expect(wordError(error, 'ours').message).toMatch(/ \(OpenAI request id req_1\)$/)
})

test('server errors of OpenAI name its status page', () => {
  const refusal = { status: 503, error: { message: 'Busy.', code: 'slow_down' }, retryAfter: undefined, headers: {} }
  expect(wordError(toCodexFault(refusal, 0, asIs).error, 'ours').message).toBe(
    'Busy. Try again in a moment; https://status.openai.com shows known incidents.',
  )
})

test('the same code inside a stream has the same advice', () => {
  const { error } = toStreamFault({ code: 'user_global_rate_limited:pro', message: 'Words.' }, asIs)
  expect(wordError(error, 'ours').message).toBe(
    'Words. This is the five-hour session limit. Wait until it resets; retrying sooner extends it.',
  )
})

test.each(['', 'two words', 'x'.repeat(200), '(a) b'])('an invalid request id is left out: %j', (id) => {
  const refusal = { status: 403, body: 'Words.', retryAfter: undefined, headers: { 'x-github-request-id': id } }
  expect(wordError(toStatusFault(refusal, asIs).error, 'ours').message).toBe('Words.')
})
