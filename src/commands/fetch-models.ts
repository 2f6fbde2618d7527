import { z } from 'zod'
import { RecordStoreError } from '../auth/record-fs.ts'
import { Fault } from '../errors.ts'
import type { Model } from '../models/model.ts'
import { createModelRegistry } from '../models/registry.ts'
import { renderModelList } from '../models/render.ts'
import { toChatError } from '../translate/chat/error.ts'
import { loginAdvice } from './account.ts'
import { findCallerKey } from './caller-key.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { findDaemon } from './find-daemon.ts'
import type { ModelSource } from './model-sources.ts'
import type { LoadedSettings } from './settings.ts'

const amount = z.number().nullable().catch(null)

const tier = z
  .looseObject({ input: amount, output: amount, cache_read: amount, cache_write: amount })
  .nullable()
  .catch(null)

/** As much of a row of `GET /v1/models` as is shown; a daemon of another version may leave some of it out. */
export const listedModel = z.looseObject({
  id: z.string(),
  owned_by: z.string().catch(''),
  copilot_proxy: z.looseObject({
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
    notices: z.array(z.looseObject({ level: z.string().catch(''), message: z.string() })).catch([]),
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

export const modelList = z.looseObject({ data: z.array(listedModel), disabled: z.array(listedModel).catch([]) })

const daemonTimeoutMs = 3000

/** The models the running daemon lists, and those that are switched off; undefined when none answers at that address. */
export async function fetchFromDaemon(
  context: CommandContext,
  settings: LoadedSettings,
): Promise<FetchedModels | undefined> {
  const { url, health } = await findDaemon(context, settings)
  if (health === undefined) return undefined
  const key = findCallerKey(context, settings.config)?.key
  try {
    const response = await context.fetch(`${url}/v1/models?include=disabled`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(daemonTimeoutMs)]),
    })
    const list = modelList.safeParse(await response.json()).data
    return list && { models: list.data, disabled: list.disabled, problems: [] }
  } catch {
    return undefined
  }
}

/** What a daemon lists, or would list now, and why some of it is built in. */
interface FetchedModels {
  readonly models: readonly ListedModel[]
  /** Switched off for the account. */
  readonly disabled: readonly ListedModel[]
  /** Sentences for a person: which provider was asked in vain, and why. */
  readonly problems: readonly string[]
}

/** What came of asking one provider. */
type Answer =
  | { readonly kind: 'listed'; readonly source: ModelSource; readonly models: readonly Model[] }
  | { readonly kind: 'no-login'; readonly source: ModelSource }
  | { readonly kind: 'failed'; readonly source: ModelSource; readonly failure: CommandFailure | RecordStoreError }

/**
 * The models of the accounts in use, asked of each provider without a daemon: same executors, same list. One provider's
 * trouble does not cost the models of another.
 * @throws CommandFailure `notLoggedIn` when nobody is logged in anywhere, else the failure of the only provider asked
 */
export async function fetchFromProviders(
  context: CommandContext,
  settings: LoadedSettings,
  sources: readonly ModelSource[],
): Promise<FetchedModels> {
  const { config } = settings
  const answers = await Promise.all(sources.map((source) => ask(context, settings, source)))
  const failed = answers.filter((answer) => answer.kind === 'failed')
  if (!answers.some(({ kind }) => kind === 'listed')) {
    throw failed[0]?.failure ?? new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  }
  const registry = createModelRegistry(config.models)
  for (const answer of answers) registry.register(answer.source.provider, modelsOf(answer))
  const render = (models: ReturnType<typeof registry.list>): readonly ListedModel[] =>
    modelList.parse(renderModelList(models, config.copilot.upstreamDialect)).data
  return {
    models: render(registry.list()),
    disabled: render(registry.listSwitchedOff()),
    problems: failed.map(
      ({ source, failure }) => `The models of ${source.name} could not be fetched: ${failure.message}`,
    ),
  }
}

function modelsOf(answer: Answer): readonly Model[] {
  const { kind, source } = answer
  switch (kind) {
    case 'listed':
      return answer.models
    case 'failed':
      return source.seeds
    case 'no-login':
      return source.seedsWithoutLogin ? source.seeds : []
  }
}

async function ask(context: CommandContext, settings: LoadedSettings, source: ModelSource): Promise<Answer> {
  try {
    const connection = await source.connect(context, settings)
    if (connection === undefined) return { kind: 'no-login', source }
    try {
      const list = source.parse(await connection.listModels({ signal: context.signal }))
      if (list !== undefined) return { kind: 'listed', source, models: list.models }
      const message = `${source.name} answered with something that is not a model list.`
      return { kind: 'failed', source, failure: new CommandFailure(exitCode.failed, message) }
    } finally {
      await connection.close()
    }
  } catch (error) {
    return { kind: 'failed', source, failure: toFailure(error) }
  }
}

/** @throws what is no trouble of a provider's: an interruption, a mistake of ours */
function toFailure(error: unknown): CommandFailure | RecordStoreError {
  if (error instanceof CommandFailure || error instanceof RecordStoreError) return error
  if (!(error instanceof Fault)) throw error
  return new CommandFailure(exitCode.failed, toChatError(error.error, '').error.message, { cause: error })
}
