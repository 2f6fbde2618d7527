import { planName } from '../api/plan-name.ts'
import type { PlanUse } from '../auth/codex/plan-use.ts'
import type { CopilotAccount, UnreportedAccount } from '../auth/copilot/quota.ts'
import type { Budget, UsageReport } from '../api/usage.ts'
import { maySee } from '../config/caller.ts'
import type { Caller, CallerKey } from '../config/caller.ts'
import { toFault } from '../errors.ts'
import { snakeKeys } from '../json/key-case.ts'
import { toOpenAiError } from '../translate/engine/openai-error.ts'
import { firstDay, toTotals } from '../usage/periods.ts'
import type { UsageRecorder } from '../usage/recorder.ts'

export interface UsageReportDeps {
  /** @throws Fault; the signal's reason on abort */
  readonly account: (signal: AbortSignal, key?: CallerKey) => Promise<CopilotAccount | UnreportedAccount>
  /** Use of the ChatGPT plan; undefined before the first answer with its headers. */
  readonly planUse: () => PlanUse | undefined
  readonly totals: Pick<UsageRecorder, 'since'>
  /** The owner's budgets. */
  readonly budgets: () => readonly Budget[]
  /** Answers come from the simulated Copilot. */
  readonly demo: boolean
  /** Removes known credentials from error messages. */
  readonly redact: (text: string) => string
  /** Ms since epoch. */
  readonly now: () => number
}

export interface UsageQuestion {
  readonly caller: Caller
  /** The path with its query: `?partial=true` answers also if the account is unknown, `?account=false` asks for none. */
  readonly url: string
  readonly requestId: string
  readonly signal: AbortSignal
}

interface UnknownAccount extends UnreportedAccount {
  readonly problemCode?: string
}

/** The body of `GET /usage`. @throws Fault if the account is unknown; the signal's reason on abort */
export async function reportUsage(
  deps: UsageReportDeps,
  { caller, url, requestId, signal }: UsageQuestion,
): Promise<UsageReport> {
  const query = new URLSearchParams(url.split('?', 2)[1])
  const account: Partial<CopilotAccount & UnknownAccount> = query.get('account') === 'false' ? {} : await accountOf()
  const nowMs = deps.now()
  const own = deps.totals.since(firstDay(nowMs)).filter(({ keyId }) => maySee(caller, keyId === '' ? undefined : keyId))
  return snakeKeys({
    ...account,
    ...(account.plan !== undefined && { planName: planName(account.plan) }),
    codex: deps.planUse(),
    totals: toTotals(own, nowMs, account.resetsAt),
    ...(maySee(caller, undefined) && { budgets: deps.budgets() }),
    ...(deps.demo && { demo: true as const }),
  })

  async function accountOf(): Promise<CopilotAccount | UnknownAccount> {
    try {
      return await deps.account(signal, caller.key)
    } catch (error) {
      if (signal.aborted || query.get('partial') !== 'true') throw error
      const { message, code } = toOpenAiError(toFault(error).error, requestId).error
      return { problem: deps.redact(message), ...(code !== null && { problemCode: code }) }
    }
  }
}
