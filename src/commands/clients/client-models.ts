import { z } from 'zod'
import { shellSafeId } from '../../client-settings/target.ts'
import type { ClientModel } from '../../client-settings/target.ts'
import { callerKeyVariable } from '../../config/environment.ts'
import { providers } from '../../models/names.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import type { RunningDaemon } from '../background/ensure-daemon.ts'
import { modelList, listedModel } from '../models/fetch-models.ts'
import type { ListedModel } from '../models/fetch-models.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { askHealth, getFromDaemon } from '../shared/find-daemon.ts'
import type { DaemonAddress, DaemonReply } from '../shared/find-daemon.ts'

/** Polling interval and number of polls for a complete list. */
const pollMs = 200
const mostPolls = 25

/** Ms. */
const answerTimeoutMs = 5000

/**
 * The chat models of a running daemon. After its start, a daemon lists built-in models; this waits for those of the
 * accounts.
 * @throws CommandFailure also where no model can be used now
 */
export async function fetchClientModels(
  context: CommandContext,
  address: DaemonAddress,
  asked: RunningDaemon['providers'],
): Promise<readonly ClientModel[]> {
  for (let poll = 1; ; poll += 1) {
    const reply = await ask(context, address, '/v1/models')
    const list = modelList.safeParse(reply.body)
    if (!list.success) throw unexpected(address, reply)
    const live = list.data.data.filter(({ copilot_proxy: { source } }) => source === 'live')
    const isComplete = asked.every((provider) => live.some((model) => model.copilot_proxy.provider === provider))
    if (isComplete || poll === mostPolls) {
      if (live.length === 0) await explainBuiltIn(context, address, asked)
      const models = (live.length > 0 ? live : list.data.data).flatMap(toClientModels)
      if (models.length > 0) return models
      const cause = 'It offers no chat model. See: copilot-proxy models'
      throw new CommandFailure(exitCode.failed, `copilot-proxy runs at ${address.url}. ${cause}`)
    }
    await context.sleep(pollMs, context.signal)
  }
}

export const builtInNote = 'Note: the models are of a built-in list; those of your account could not be asked for.\n'

/**
 * Writes a note that the list is built in.
 * @throws CommandFailure where no provider is usable
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
  const reply = await ask(context, address, '/usage?partial=true')
  const problem = asked.includes('copilot') ? usageReply.safeParse(reply.body).data?.problem : undefined
  const why = problem ?? 'To find out why: copilot-proxy doctor'
  throw new CommandFailure(
    exitCode.failed,
    visibleLines(`copilot-proxy runs at ${address.url}, and no model can be used now. ${why}`),
  )
}

/** Explains why the account is unknown. */
const usageReply = z.looseObject({ problem: z.string() })

/**
 * Resolves a model name by the daemon's rules.
 * @throws CommandFailure `usage` for an unknown name, with similar ones
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

/** The model and its long context tier. Empty for a model without chat. */
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

async function ask(context: CommandContext, address: DaemonAddress, path: string): Promise<DaemonReply> {
  try {
    return await getFromDaemon(context, address, path, answerTimeoutMs)
  } catch (cause) {
    context.signal.throwIfAborted()
    throw new CommandFailure(
      exitCode.failed,
      `copilot-proxy at ${address.url} does not answer. See: copilot-proxy doctor`,
      {
        cause,
      },
    )
  }
}

function unexpected({ url }: DaemonAddress, { status, body }: DaemonReply): CommandFailure {
  if (status === 401) {
    const fix = `Set ${callerKeyVariable} to one of its keys; copilot-proxy key add makes one`
    return new CommandFailure(exitCode.failed, `copilot-proxy at ${url} refuses the key. ${fix}.`)
  }
  const message = errorReply.safeParse(body).data?.error.message ?? `It answered with status ${status}`
  return new CommandFailure(exitCode.failed, `copilot-proxy at ${url} does not list its models. ${message}`)
}
