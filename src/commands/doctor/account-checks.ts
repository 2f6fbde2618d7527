import type { CodexLoginStatus } from '../../auth/codex/credentials.ts'
import type { ExchangeOutcome } from '../../auth/copilot/github-api.ts'
import type { CopilotUserOutcome } from '../../auth/copilot/github-api.ts'
import type { CopilotAccount, Quota } from '../../auth/copilot/quota.ts'
import type { ProxyError } from '../../errors.ts'
import { isOpen } from '../../models/model.ts'
import type { Model } from '../../models/model.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import { providerNames } from '../shared/accounts.ts'
import type { ListingOutcome } from '../../models/try-list.ts'
import { describeCodexLogin } from '../shared/logins.ts'
import type { CodexState, CopilotState } from '../../daemon/login-status.ts'
import { planName, planNameOfSku } from '../../api/plan-name.ts'
import { failed, ok, skipped, warning } from './check.ts'
import type { Findings, Finding } from './check.ts'
import { plural } from '../../terminal/format.ts'
import { inWords } from '../../upstream-errors/message.ts'

/**
 * One provider is enough, so a missing login of the other is no failure.
 * @param hasOther there is a login of Codex
 */
export function judgeCopilotLogin({ login, problem }: CopilotState, hasOther: boolean): Findings {
  if (problem !== undefined) return failed(problem, 'Fix that, or log in again: copilot-proxy login')
  if (login !== undefined) {
    const { record } = login
    const plan = planNameOfSku(record?.metadata.sku)
    return ok(record === undefined ? 'Token from COPILOT_GITHUB_TOKEN' : [record.label, plan ?? []].flat().join(', '))
  }
  return hasOther
    ? skipped('Not logged in. To use Copilot: copilot-proxy login')
    : [{ status: 'failed', detail: 'Not logged in', fix: 'Run: copilot-proxy login', nobody: true }]
}

/** The check of Copilot's login reports that nobody is logged in at all. */
export function judgeCodexLogin(state: CodexState): Findings {
  switch (state.kind) {
    case 'off':
      return skipped('Off (codex.enabled: false)')
    case 'api-key':
      return ok('API key from codex.api-key')
    case 'problem':
      return failed(state.detail, state.fix)
    case 'nobody':
      return state.isChosen
        ? failed(state.detail, state.fix)
        : skipped('Not logged in. To use Codex: copilot-proxy login codex')
    case 'login':
    case 'codex-cli':
      return ok(describeCodexLogin(state.account, state.plan ?? null, state.kind === 'codex-cli'))
  }
}

const again = 'Wait a moment and run copilot-proxy doctor again'

/** Whether GitHub accepts the login, from the outcome of a token exchange. */
export function judgeCopilotToken(outcome: ExchangeOutcome): Findings {
  switch (outcome.kind) {
    case 'ok':
      if (outcome.direct) return ok('GitHub accepts the login; copilot-proxy sends it directly to Copilot')
      return ok(`GitHub accepts the login and issued a token for ${inWords(outcome.refreshInSeconds)}`)
    case 'bad_credentials':
    case 'not_available':
      return failed(outcome.detail, outcome.fix)
    case 'no_access':
      return skipped('GitHub accepts the login, but issues no token for this account')
    case 'rate_limited': {
      const { detail, retryAfterSeconds } = outcome
      return warning(
        detail,
        retryAfterSeconds === undefined
          ? again
          : `Wait ${inWords(retryAfterSeconds)} and run copilot-proxy doctor again`,
      )
    }
    case 'redirected':
      return failed(outcome.detail, 'Sign in to this network in a browser, or use another network')
    case 'transient':
      return failed(outcome.detail, again)
    case 'aborted':
      return skipped('Interrupted')
  }
}

const plansPage = 'https://github.com/settings/copilot'

/** Whether the account has a seat and quota left. */
export function judgeCopilotEntitlement(exchange: ExchangeOutcome, account: CopilotUserOutcome): Findings {
  if (exchange.kind === 'no_access') return failed(exchange.detail, exchange.fix)
  if (exchange.kind !== 'ok') return skipped('The check "Token, Copilot" did not pass')
  const untold = 'lan and quota are unknown, because GitHub does not report them for this login'
  // Without a token exchange, the list of models shows whether Copilot is on.
  if (account.kind === 'not_available') return ok(exchange.direct ? `P${untold}` : `Copilot is enabled; p${untold}`)
  if (account.kind === 'aborted') return skipped('Interrupted')
  if (account.kind !== 'ok') return skipped(`Copilot is enabled; plan and quota are unknown: ${account.detail}`)
  return judgeQuotas(account.account)
}

function judgeQuotas(account: CopilotAccount): Findings {
  const plan = planName(account.plan)
  const day = account.resetsAt?.slice(0, 10)
  const fix = day === undefined ? `See ${plansPage}` : `Wait until ${day}, or buy more at ${plansPage}`
  const spent = account.quotas.flatMap((quota): readonly Finding[] => {
    if (!isSpent(quota)) return []
    // Without `chat` nothing answers; without premium requests, included models still do.
    return quota.id === 'chat'
      ? [{ status: 'failed', detail: `${plan}: the chat quota is used up`, fix }]
      : [{ status: 'warning', detail: `${plan}: the ${nameOf(account)} are used up; only included models work`, fix }]
  })
  const [first, ...rest] = spent
  return first === undefined ? ok([plan, ...leftOf(account)].join('; ')) : [first, ...rest]
}

/** The quotas that this program uses up; `completions` belong to editors. */
function isSpent({ id, unlimited, remaining, overagePermitted }: Quota): boolean {
  const isOurs = id === 'chat' || id === 'premium_interactions'
  return isOurs && !unlimited && remaining !== undefined && remaining <= 0 && overagePermitted !== true
}

function nameOf({ tokenBasedBilling }: CopilotAccount): string {
  return tokenBasedBilling ? 'AI credits' : 'premium requests'
}

function leftOf(account: CopilotAccount): readonly string[] {
  return account.quotas.flatMap(({ id, unlimited, remaining, entitlement }) => {
    if (unlimited || remaining === undefined || (id !== 'chat' && id !== 'premium_interactions')) return []
    const total = entitlement === undefined ? '' : ` of ${Math.round(entitlement)}`
    return [`${Math.round(remaining)}${total} ${id === 'chat' ? 'chats' : nameOf(account)} left`]
  })
}

export interface CodexAnswer {
  readonly outcome: ListingOutcome
  /** The status of the login after the request. */
  readonly status: CodexLoginStatus
}

function describe(error: ProxyError): string {
  return toOpenAiError(error, '').error.message
}

/** Whether OpenAI accepts the login, renewed if it was due. */
export function judgeCodexToken({ outcome, status }: CodexAnswer, nowMs: number): Findings {
  const { error } = outcome.kind === 'fault' ? outcome : { error: undefined }
  if (error?.kind === 'codex_unavailable') return failed(error.detail, error.fix)
  if (error?.kind === 'upstream_status' && error.status === 401)
    return failed(describe(error), fixes[status.source ?? 'login'])
  if (error !== undefined && planRefusal(error) === undefined) return skipped('Unknown: OpenAI did not answer')
  return ok(`OpenAI accepts the login${lifeOf(status, nowMs)}`)
}

/**
 * Whether the plan includes Codex and has quota left. OpenAI reports the amount with answers only, and none is
 * requested.
 */
export function judgeCodexEntitlement({ outcome, status }: CodexAnswer): Findings {
  const { error } = outcome.kind === 'fault' ? outcome : { error: undefined }
  const refusal = error && planRefusal(error)
  if (error !== undefined && refusal !== undefined) {
    return refusal === 429
      ? warning(
          describe(error),
          'Wait until it resets, or upgrade the plan at https://chatgpt.com/codex/settings/usage',
        )
      : failed(describe(error), 'Log in with another account: copilot-proxy login codex')
  }
  if (error !== undefined) return skipped('Unknown: OpenAI did not answer')
  return ok(
    status.source === 'api-key'
      ? 'Billed to the API key'
      : status.plan === undefined
        ? 'The plan includes Codex'
        : `ChatGPT plan ${status.plan}`,
  )
}

/** The status by which OpenAI refuses the account rather than the login (docs/codex-wire.md, "Errors"). */
export function planRefusal(error: ProxyError): number | undefined {
  return error.kind === 'upstream_status' && [402, 403, 429].includes(error.status) ? error.status : undefined
}

const fixes: Readonly<Record<NonNullable<CodexLoginStatus['source']>, string>> = {
  'api-key': 'Set codex.api-key to a valid key',
  'codex-cli': 'Run: codex login',
  login: 'Run: copilot-proxy login codex',
}

function lifeOf({ source, expiresAtMs }: CodexLoginStatus, nowMs: number): string {
  if (expiresAtMs === undefined) return ''
  const time = inWords(Math.max(0, Math.floor((expiresAtMs - nowMs) / 1000)))
  return `; the token is valid for ${time}, then renewed ${source === 'codex-cli' ? 'by Codex CLI' : 'automatically'}`
}

/** Further models are counted. */
const mostNamed = 8

/** Whether there are models, and which are switched off by a policy. */
export function judgeModels(outcome: ListingOutcome, provider: ProviderId): Findings {
  const name = providerNames[provider]
  switch (outcome.kind) {
    case 'unusable':
      return failed(`${name} did not answer with a model list`, again)
    case 'fault':
      return failed(describe(outcome.error), 'fix' in outcome.error ? outcome.error.fix : again)
    case 'listed':
      return judgeList(outcome.listing.models, name)
  }
}

function judgeList(models: readonly Model[], name: string): Findings {
  const chat = models.filter(({ type }) => type === 'chat')
  const usable = new Set(chat.filter(isOpen).map(({ id }) => id))
  const disabled = [...new Set(chat.map(({ id }) => id))].filter((id) => !usable.has(id))
  const count = plural(usable.size, 'chat model')
  if (disabled.length > 0) {
    const more = disabled.length - mostNamed
    const named = disabled.slice(0, mostNamed).join(', ') + (more > 0 ? ` and ${more} more` : '')
    const detail = `${count}; disabled by a policy: ${named}`
    const fix =
      'Enable them with: copilot-proxy models enable MODEL – or at https://github.com/settings/copilot/features, or ask the administrator of your organization'
    return usable.size === 0 ? failed(detail, fix) : warning(detail, fix)
  }
  return usable.size === 0 ? skipped(`${name} has no chat models for this account`) : ok(count)
}
