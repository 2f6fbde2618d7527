import { z } from 'zod'
import { createRecordStore } from '../auth/record-store.ts'
import { connectCopilot } from '../copilot-connection.ts'
import { Fault } from '../errors.ts'
import { toCopilotModel } from '../models/model.ts'
import { createModelRegistry } from '../models/registry.ts'
import { renderModelList } from '../models/render.ts'
import { parseModelList } from '../models/wire.ts'
import { toChatError } from '../translate/chat/error.ts'
import { daemonUrl } from './ask-daemon.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { quietLog, requireLogin, tokenOfEnvironment, troubleLog } from './account.ts'
import type { LoadedSettings } from './settings.ts'

/** As much of a row of `GET /v1/models` as is shown; a daemon of another version may leave some of it out. */
const listedModel = z.looseObject({
  id: z.string(),
  owned_by: z.string().catch(''),
  copilot_proxy: z.looseObject({
    name: z.string().catch(''),
    type: z.string().catch(''),
    preview: z.boolean().catch(false),
    source: z.string().catch(''),
    endpoints: z.array(z.string()).catch([]),
    routes: z.record(z.string(), z.string().nullable()).catch({}),
    context_window: z.number().nullable().catch(null),
    max_output_tokens: z.number().nullable().catch(null),
    capabilities: z
      .looseObject({
        tool_calls: z.boolean().nullable().catch(null),
        vision: z.boolean().nullable().catch(null),
        reasoning_effort: z.array(z.string()).nullable().catch(null),
      })
      .catch({ tool_calls: null, vision: null, reasoning_effort: null }),
  }),
})
export type ListedModel = z.infer<typeof listedModel>

const modelList = z.looseObject({ data: z.array(listedModel) })

const daemonTimeoutMs = 3000

/** The models the running daemon lists; undefined when none answers at the configured address. */
export async function fetchFromDaemon(
  context: CommandContext,
  { config }: LoadedSettings,
): Promise<readonly ListedModel[] | undefined> {
  const [key] = config.server.apiKeys
  try {
    const response = await context.fetch(`${daemonUrl(config.server)}/v1/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(daemonTimeoutMs)]),
    })
    return modelList.safeParse(await response.json()).data?.data
  } catch {
    return undefined
  }
}

/**
 * The account's models, asked of Copilot without a daemon: same executor, same list.
 * @throws CommandFailure `notLoggedIn`, `failed`
 */
export async function fetchFromCopilot(
  context: CommandContext,
  settings: LoadedSettings,
): Promise<readonly ListedModel[]> {
  await requireLogin(context, settings)
  const { config } = settings
  const { env, fetch, now } = context
  const copilot = connectCopilot(
    {
      // What is wrong with the records has been told when the login was looked up.
      store: createRecordStore({ dir: settings.authDir, log: quietLog }),
      githubToken: tokenOfEnvironment(context),
      log: troubleLog(context),
      fetch,
      now,
      env,
    },
    config,
  )
  try {
    const list = parseModelList(await copilot.executor.listModels({ signal: context.signal }))
    if (list === undefined)
      throw new CommandFailure(exitCode.failed, 'Copilot answered with something that is not a model list.')
    const registry = createModelRegistry(config.models)
    registry.register('copilot', list.entries.map(toCopilotModel))
    return modelList.parse(renderModelList(registry.list(), config.copilot.upstreamDialect)).data
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw new CommandFailure(exitCode.failed, toChatError(error.error, '').error.message, { cause: error })
  } finally {
    await copilot.close()
  }
}
