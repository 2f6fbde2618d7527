import { z } from 'zod'
import { shellSafeId, type ClientModel } from '../client-settings/client-model.ts'
import { providers } from '../models/names.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { callerKeyVariable } from '../config/environment.ts'
import { askHealth } from './ask-daemon.ts'
import type { CommandContext } from './context.ts'
import type { RunningDaemon } from './ensure-daemon.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { modelList, listedModel } from './fetch-models.ts'
import type { ListedModel } from './fetch-models.ts'

/** Between two looks at a list that is not complete yet, and how many there are at most. */
const lookEveryMs = 200
const mostLooks = 25

/** Ms. */
const answerTimeoutMs = 5000

export interface DaemonAddress {
  readonly url: string
  readonly key: string
}

/**
 * The chat models that a running daemon lists. One that has just started lists built-in ones until it has the accounts'
 * own, which are waited for.
 * @throws CommandFailure also where no model can be used now
 */
export async function fetchClientModels(
  context: CommandContext,
  address: DaemonAddress,
  asked: RunningDaemon['providers'],
): Promise<readonly ClientModel[]> {
  for (let look = 1; ; look += 1) {
    const reply = await ask(context, address, '/v1/models')
    const list = modelList.safeParse(reply.body)
    if (!list.success) throw unexpected(address, reply)
    const live = list.data.data.filter(({ copilot_proxy: { source } }) => source === 'live')
    const isComplete = asked.every((provider) => live.some((model) => model.copilot_proxy.provider === provider))
    if (isComplete || look === mostLooks) {
      if (live.length === 0) await explainBuiltIn(context, address, asked)
      const models = (live.length > 0 ? live : list.data.data).flatMap(toClientModels)
      if (models.length > 0) return models
      const cause = 'It offers no chat model. See: copilot-proxy models'
      throw new CommandFailure(exitCode.failed, `copilot-proxy runs at ${address.url}. ${cause}`)
    }
    await context.sleep(lookEveryMs, context.signal)
  }
}

export const builtInNote = 'Note: the models are of a built-in list; those of your account could not be asked for.\n'

/**
 * Why the list is no account's own: told, where the models can be used all the same.
 * @throws CommandFailure where they cannot
 */
async function explainBuiltIn(
  context: CommandContext,
  address: DaemonAddress,
  asked: RunningDaemon['providers'],
): Promise<void> {
  const health = await askHealth(address.url, context.fetch)
  if (providers.some((provider) => health?.[provider] === 'ok')) {
    context.stderr.write(builtInNote)
    return
  }
  const found = await ask(context, address, '/usage?partial=true')
  const problem = asked.includes('copilot') ? usageReply.safeParse(found.body).data?.problem : undefined
  const why = problem ?? 'To find out why: copilot-proxy doctor'
  throw new CommandFailure(
    exitCode.failed,
    visibleLines(`copilot-proxy runs at ${address.url}, and no model can be used now. ${why}`),
  )
}

/** As far as it is read here: why nothing is known of the account. */
const usageReply = z.looseObject({ problem: z.string() })

/**
 * The model that a name stands for, by the daemon's own rules.
 * @throws CommandFailure `usage` for a name that stands for none, with those that are near
 */
export async function fetchClientModel(
  context: CommandContext,
  address: DaemonAddress,
  name: string,
): Promise<ClientModel> {
  const reply = await ask(context, address, `/v1/models/${name.split('/').map(encodeURIComponent).join('/')}`)
  const row = listedModel.safeParse(reply.body)
  if (row.success) {
    const [model] = toClientModels(row.data)
    if (model !== undefined) return model
    throw new CommandFailure(exitCode.usage, `${visible(name)} is not a chat model.`)
  }
  if (reply.status !== 404) throw unexpected(address, reply)
  throw new CommandFailure(exitCode.usage, errorReply.safeParse(reply.body).data?.error.message ?? 'No such model.')
}

/** The model, and behind it its long context tier. Nothing for a model that cannot chat. */
export function toClientModels({ id, copilot_proxy: facts }: ListedModel): readonly ClientModel[] {
  const { provider, type, routes, capabilities, context_tier: tier, long_context: long, prices } = facts
  if (type !== 'chat' || !Object.values(routes).some((route) => route !== null)) return []
  const model: ClientModel = {
    id: shellSafeId(id),
    provider,
    routes,
    contextTokens: promptTokens(facts),
    contextTier: tier === 'default' || tier === 'long' ? tier : undefined,
    prices: (tier === 'long' ? prices?.long_context : prices?.default) ?? undefined,
    outputTokens: facts.max_output_tokens ?? undefined,
    vision: capabilities.vision === true,
    tools: capabilities.tool_calls !== false,
    thinks: (capabilities.reasoning_effort ?? []).length > 0,
  }
  if (long === null) return [model]
  const ofTier = {
    contextTokens: promptTokens(long),
    contextTier: 'long',
    prices: prices?.long_context ?? undefined,
  } as const
  return [model, { ...model, ...ofTier, id: shellSafeId(long.id) }]
}

function promptTokens(
  limits: Pick<ListedModel['copilot_proxy'], 'max_prompt_tokens' | 'context_window'>,
): number | undefined {
  return limits.max_prompt_tokens ?? limits.context_window ?? undefined
}

const errorReply = z.looseObject({ error: z.looseObject({ message: z.string() }) })

interface Reply {
  readonly status: number
  /** Undefined where it is not JSON. */
  readonly body: unknown
}

async function ask(context: CommandContext, { url, key }: DaemonAddress, path: string): Promise<Reply> {
  try {
    const response = await context.fetch(url + path, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(answerTimeoutMs)]),
    })
    return { status: response.status, body: await response.json().catch(() => undefined) }
  } catch (cause) {
    context.signal.throwIfAborted()
    throw new CommandFailure(exitCode.failed, `copilot-proxy at ${url} does not answer. See: copilot-proxy doctor`, {
      cause,
    })
  }
}

function unexpected({ url }: DaemonAddress, { status, body }: Reply): CommandFailure {
  if (status === 401) {
    const fix = `Set ${callerKeyVariable} to one of its keys; copilot-proxy key add makes one`
    return new CommandFailure(exitCode.failed, `copilot-proxy at ${url} refuses the key. ${fix}.`)
  }
  const words = errorReply.safeParse(body).data?.error.message ?? `It answered with status ${status}`
  return new CommandFailure(exitCode.failed, `copilot-proxy at ${url} does not list its models. ${words}`)
}
