import { z } from 'zod'
import { codexRecordKind } from '../../auth/codex/record.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { Fault } from '../../errors.ts'
import { connectCodex } from '../../executors/codex-connection.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import { connectCopilot } from '../../executors/copilot-connection.ts'
import type { CopilotConnection } from '../../executors/copilot-connection.ts'
import type { Executor, ProviderId } from '../../executors/executor.ts'
import type { Logger } from '../../logging/logger.ts'
import { parseAccountModels } from '../../models/auto-model.ts'
import { parseCodexModels } from '../../models/codex-model.ts'
import type { Model, ModelListing } from '../../models/model.ts'
import { createModelRegistry } from '../../models/registry.ts'
import { renderModel, renderModelList } from '../../models/render.ts'
import { codexSeeds, copilotSeeds } from '../../models/seeds.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import { loginAdvice, findLogin, silentLog, recordPlace, tokenOfEnvironment, warningLog } from '../shared/accounts.ts'
import { hasCodexLogin, readCodexState } from '../shared/codex-login.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { findCommandKey, findDaemon, getFromDaemon } from '../shared/find-daemon.ts'
import { findCodexHome, type LoadedSettings } from '../shared/settings.ts'

const amount = z.number().nullable().catch(null)
const flag = z.boolean().nullable().catch(null)

const tier = z
  .looseObject({ input: amount, output: amount, cache_read: amount, cache_write: amount })
  .nullable()
  .catch(null)

/** The displayed part of a row of `GET /v1/models`; daemons of other versions may omit some. */
export const listedModel = z.looseObject({
  id: z.string(),
  owned_by: z.string().catch(''),
  copilot_proxy: z.looseObject({
    alias_of: z.string().nullable().catch(null),
    fallbacks: z.array(z.string()).catch([]),
    provider: z.string().catch(''),
    family: z.string().catch(''),
    name: z.string().catch(''),
    type: z.string().catch(''),
    preview: z.boolean().catch(false),
    policy: z.string().nullable().catch(null),
    source: z.string().catch(''),
    endpoints: z.array(z.string()).catch([]),
    routes: z.record(z.string(), z.string().nullable()).catch({}),
    context_window: amount,
    max_prompt_tokens: amount,
    max_output_tokens: amount,
    context_tier: z.string().nullable().catch(null),
    long_context: z
      .looseObject({ id: z.string(), context_window: amount, max_prompt_tokens: amount })
      .nullable()
      .catch(null),
    prices: z.looseObject({ default: tier, long_context: tier }).nullable().catch(null),
    premium_multiplier: amount,
    max_inputs: amount,
    notices: z.array(z.looseObject({ level: z.string().catch(''), message: z.string() })).catch([]),
    capabilities: z
      .looseObject({
        tool_calls: flag,
        parallel_tool_calls: flag,
        vision: flag,
        structured_outputs: flag,
        reasoning_effort: z.array(z.string()).nullable().catch(null),
      })
      .catch({
        tool_calls: null,
        parallel_tool_calls: null,
        vision: null,
        structured_outputs: null,
        reasoning_effort: null,
      }),
  }),
})
export type ListedModel = z.infer<typeof listedModel>

export const modelList = z.looseObject({ data: z.array(listedModel), disabled: z.array(listedModel).catch([]) })

const daemonTimeoutMs = 3000

/** The running daemon's models, including disabled ones; undefined if none answers. */
export async function fetchFromDaemon(
  context: CommandContext,
  settings: LoadedSettings,
): Promise<FetchedModels | undefined> {
  const { url, health } = await findDaemon(context, settings)
  if (health === undefined) return undefined
  const key = await findCommandKey(context, settings, url)
  try {
    const { body } = await getFromDaemon(context, { url, key }, '/v1/models?include=disabled', daemonTimeoutMs)
    const list = modelList.safeParse(body).data
    const find = async (name: string): Promise<FoundModel> => {
      const path = `/v1/models/${name.split('/').map(encodeURIComponent).join('/')}`
      const reply = await getFromDaemon(context, { url, key }, path, daemonTimeoutMs)
      const row = listedModel.safeParse(reply.body).data
      if (row !== undefined) return { row, problem: '' }
      return { problem: errorReply.safeParse(reply.body).data?.error.message ?? `Status ${reply.status}.` }
    }
    return list && { models: list.data, disabled: list.disabled, problems: [], find }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    return undefined
  }
}

interface FoundModel {
  readonly row?: ListedModel
  /** Why there is no row: a sentence. */
  readonly problem: string
}

const errorReply = z.looseObject({ error: z.looseObject({ message: z.string() }) })

/** Where models are enabled. */
export const settingsPage = 'https://github.com/settings/copilot/features'

export interface FetchedModels {
  readonly models: readonly ListedModel[]
  /** Disabled for the account. */
  readonly disabled: readonly ListedModel[]
  /** Sentences: which provider failed, and why. */
  readonly problems: readonly string[]
  /** Finds a model by any of its names. */
  readonly find: (name: string) => Promise<FoundModel>
}

interface Answer {
  readonly source: ModelSource
  /** The account's models, or those that a daemon lists while the account's models are unknown. */
  readonly models: readonly Model[]
  readonly isListed?: true
  readonly failure?: CommandFailure | RecordStoreError
}

/**
 * The models of the accounts in use, from each provider without a daemon: same executors, same list. A failing
 * provider does not hide the models of another.
 * @throws CommandFailure `notLoggedIn` when nobody is logged in anywhere, else the failure of the only provider in use
 */
export async function fetchFromProviders(
  context: CommandContext,
  settings: LoadedSettings,
  sources: readonly ModelSource[],
): Promise<FetchedModels> {
  const { config } = settings
  const answers = await Promise.all(sources.map((source) => ask(context, settings, source)))
  if (!answers.some(({ isListed }) => isListed)) {
    const failure = answers.find((answer) => answer.failure !== undefined)?.failure
    throw failure ?? new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  }
  const registry = createModelRegistry(config.models)
  for (const { source, models } of answers) registry.register(source.provider, models)
  const render = (models: ReturnType<typeof registry.list>): readonly ListedModel[] =>
    modelList.parse(renderModelList(models, config.copilot.upstreamDialect)).data
  return {
    models: render(registry.list()),
    disabled: render(registry.listSwitchedOff()),
    problems: answers.flatMap(({ source, failure }) =>
      failure === undefined ? [] : [`Could not get the models of ${source.name}: ${failure.message}`],
    ),
    find: (name) => {
      const result = registry.resolve(name)
      if (!result.ok) return Promise.resolve({ problem: toOpenAiError(result.error, '').error.message })
      return Promise.resolve({
        problem: '',
        row: listedModel.parse(renderModel(result.value, config.copilot.upstreamDialect)),
      })
    },
  }
}

async function ask(context: CommandContext, settings: LoadedSettings, source: ModelSource): Promise<Answer> {
  try {
    const connection = await source.connect(context, settings)
    if (connection === undefined) return { source, models: source.seedsWithoutLogin ? source.seeds : [] }
    try {
      const list = source.parse(await connection.listModels({ signal: context.signal }))
      if (list !== undefined) return { source, models: list.models, isListed: true }
      const message = `${source.name} did not answer with a model list.`
      throw new CommandFailure(exitCode.failed, message)
    } finally {
      await connection.close()
    }
  } catch (error) {
    return { source, models: source.seeds, failure: toFailure(error) }
  }
}

/** @throws errors that are not a provider's, such as an interruption */
function toFailure(error: unknown): CommandFailure | RecordStoreError {
  if (error instanceof CommandFailure || error instanceof RecordStoreError) return error
  if (!(error instanceof Fault)) throw error
  return new CommandFailure(exitCode.failed, toOpenAiError(error.error, '').error.message, { cause: error })
}

/** A provider whose models can be fetched without a daemon. */
export interface ModelSource {
  readonly provider: ProviderId
  /** `Copilot`. */
  readonly name: string
  /** The models that a daemon lists while the account's models are unknown. */
  readonly seeds: readonly Model[]
  /** Whether a daemon lists them without a login. */
  readonly seedsWithoutLogin: boolean
  /**
   * Connects with the stored login; undefined if there is none.
   * @throws CommandFailure, RecordStoreError if the login cannot be looked up
   */
  readonly connect: (
    context: CommandContext,
    settings: LoadedSettings,
  ) => Promise<Pick<Executor, 'listModels' | 'close'> | undefined>
  readonly parse: (reply: unknown) => ModelListing | undefined
}

const copilotSource: ModelSource = {
  provider: 'copilot',
  name: 'Copilot',
  seeds: copilotSeeds,
  seedsWithoutLogin: true,
  async connect(context, settings) {
    const login = await findLogin(context, settings)
    if (login === undefined) return undefined
    const { executor, close } = openCopilotConnection(context, settings)
    return { listModels: executor.listModels, close }
  },
  parse: parseAccountModels,
}

const codexSource: ModelSource = {
  provider: 'codex',
  name: 'Codex',
  seeds: codexSeeds,
  seedsWithoutLogin: false,
  async connect(context, settings) {
    const state = await readCodexState(context, settings)
    if (state.kind === 'problem') throw new CommandFailure(exitCode.failed, state.problem)
    if (!hasCodexLogin(state)) return undefined
    const connection = openCodexConnection(context, settings, warningLog(context))
    return connection && { listModels: connection.executor.listModels, close: connection.close }
  },
  parse: parseCodexModels,
}

/** As a daemon connects with the stored login. Call after `findLogin`, which reports unusable records. */
export function openCopilotConnection(context: CommandContext, settings: LoadedSettings): CopilotConnection {
  const { env, fetch, now } = context
  return connectCopilot(
    {
      store: openRecordStore(copilotRecordKind, recordPlace(context, settings), silentLog),
      githubToken: tokenOfEnvironment(context),
      log: warningLog(context),
      noteSecrets: context.secrets.note,
      redact: context.secrets.redact,
      fetch,
      now,
      env,
    },
    settings.config,
  )
}

/** In the order in which a daemon lists them. */
export const modelSources: readonly ModelSource[] = [copilotSource, codexSource]

/** As a daemon connects, including the lock: a refresh token must be redeemed where requests redeem it. */
export function openCodexConnection(
  context: CommandContext,
  settings: LoadedSettings,
  log: Logger,
): CodexConnection | undefined {
  const { env, fetch, now, version, beforeExit, secrets } = context
  return connectCodex(
    {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), silentLog),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      log,
      noteSecrets: secrets.note,
      redact: secrets.redact,
      onModelsChanged: () => {},
      fetch,
      now,
      env,
      version,
    },
    settings.config,
  )
}
