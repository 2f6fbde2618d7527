import type { ExchangeOutcome } from '../auth/copilot-exchange.ts'
import type { CopilotUserOutcome } from '../auth/github-api.ts'
import type { CopilotAccount, Quota } from '../auth/quota.ts'
import { failed, ok, skipped } from './check.ts'
import type { Finding, Findings } from './check.ts'

const plansPage = 'https://github.com/settings/copilot'

export interface EntitlementFacts {
  readonly exchange: ExchangeOutcome
  readonly account: CopilotUserOutcome
  /** A plan in words for people. */
  readonly planName: (plan: string) => string
}

/** Whether the account has a seat, and anything left to use. */
export function judgeCopilotEntitlement({ exchange, account, planName }: EntitlementFacts): Findings {
  if (exchange.kind === 'no_access') return failed(exchange.detail, exchange.fix)
  if (exchange.kind !== 'ok') return skipped('Needs: a token')
  const untold = 'GitHub tells nothing of plan and quota to this login'
  // Whether Copilot is on shows with the models, where no exchange has said so.
  if (account.kind === 'not_available') return ok(exchange.direct ? untold : `Copilot is on; ${untold}`)
  if (account.kind === 'aborted') return skipped('Interrupted')
  if (account.kind !== 'ok') return skipped(`Copilot is on; plan and quota are not known: ${account.detail}`)
  return judgeQuotas(account.account, planName)
}

function judgeQuotas(account: CopilotAccount, planName: EntitlementFacts['planName']): Findings {
  const plan = planName(account.plan)
  const day = account.resetsAt?.slice(0, 10)
  const fix = day === undefined ? `See ${plansPage}` : `Wait until ${day}, or get more at ${plansPage}`
  const spent = account.quotas.flatMap((quota): readonly Finding[] => {
    if (!isSpent(quota)) return []
    // Without `chat` nothing answers; without the other one the models that cost nothing still do.
    return quota.id === 'chat'
      ? [{ status: 'failed', detail: `${plan}: the chat quota is spent`, fix }]
      : [{ status: 'warning', detail: `${plan}: the ${nameOf(account)} are spent; models that cost none answer`, fix }]
  })
  const [first, ...rest] = spent
  return first === undefined ? ok([plan, ...leftOf(account)].join('; ')) : [first, ...rest]
}

/** The quotas that this program draws on; `completions` are of editors. */
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
    const whole = entitlement === undefined ? '' : ` of ${Math.round(entitlement)}`
    return [`${Math.round(remaining)}${whole} ${id === 'chat' ? 'chats' : nameOf(account)} left`]
  })
}
