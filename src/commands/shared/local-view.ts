import { codexRecordKind } from '../../auth/codex/record.ts'
import { fetchAccountInUse } from '../../auth/copilot/account-in-use.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { ModelList, ModelRow } from '../../api/models.ts'
import type { UsageReport } from '../../api/usage.ts'
import { ownerCaller } from '../../config/caller.ts'
import { hasCodexLogin, readCodexState } from '../../daemon/login-status.ts'
import { Fault, statusOf } from '../../errors.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { createCreditLimit } from '../../http/access/key-limits.ts'
import { reportUsage } from '../../http/usage-report.ts'
import { renderModel, renderModelList } from '../../models/render.ts'
import { toOpenAiError } from '../../translate/engine/openai-error.ts'
import { createMetrics } from '../../usage/metrics.ts'
import { createUsageRecorder } from '../../usage/recorder.ts'
import { silentLog } from '../../logging/logger.ts'
import { loginAdvice, providerNames, recordPlace, tokenOfEnvironment, warningLog } from './accounts.ts'
import { findLogin, loginReaders } from './logins.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { findCodexHome } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { RouteRefused } from './view.ts'
import type { DaemonView } from './view.ts'

/**
 * The providers of a daemon with the stored logins, for a command. Tokens that are due are renewed. Close them: a renewal may
 * be under way.
 */
export async function openProviders(context: CommandContext, settings: LoadedSettings) {
  const { config } = settings
  const { env, now, version, secrets, beforeExit } = context
  // The totals alone need none of it.
  const [{ connectProviders }, { providerServices }] = await Promise.all([
    import('../../daemon/providers.ts'),
    import('../../daemon/provider-services.ts'),
    context.prepareFetch(),
  ])
  const place = recordPlace(context, settings)
  return connectProviders({
    config: () => config,
    // `findLogin` reports unusable records.
    stores: {
      copilot: openRecordStore(copilotRecordKind, place, silentLog),
      codex: openRecordStore(codexRecordKind, place, silentLog),
    },
    githubToken: tokenOfEnvironment(context),
    codexHome: findCodexHome(context),
    services: providerServices,
    version,
    env,
    now,
    metrics: createMetrics(),
    noteSecrets: secrets.note,
    redact: secrets.redact,
    log: warningLog(context),
    // The caller gets the failures themselves.
    modelsLog: silentLog,
    setTimer,
    onAccount: undefined,
    beforeExit,
    drained: () => Promise.resolve(),
    onModels: () => {},
  })
}

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

type Providers = Awaited<ReturnType<typeof openProviders>>

const noModelList = { kind: 'upstream_unusable', detail: 'the reply is not a model list' } as const

/** Answers as a daemon of the owner would, from the stored logins and totals. It listens nowhere and writes no totals. */
export function createLocalView(context: CommandContext, settings: LoadedSettings): DaemonView {
  const { config } = settings
  const { now, signal, secrets } = context
  const problems: string[] = []
  let opened: Promise<Providers> | undefined
  const providers = (): Promise<Providers> => (opened ??= openProviders(context, settings))
  let fetched: Promise<void> | undefined

  const totals = createUsageRecorder({
    file: settings.usageFile,
    isReadOnly: true,
    now,
    setTimer: () => () => {},
    log: warningLog(context),
  })

  /** @throws CommandFailure, RecordStoreError if the login cannot be looked up */
  async function hasLogin(provider: ProviderId): Promise<boolean> {
    if (provider === 'copilot') return (await findLogin(context, settings, { isReadOnly: true })) !== undefined
    const state = await readCodexState(loginReaders(context, settings, { isReadOnly: true }))
    if (state.kind === 'problem') throw new CommandFailure(exitCode.failed, state.sentence)
    return hasCodexLogin(state)
  }

  /** Why the models of a provider are unknown; `nobody`: it has no login. */
  async function fetchOne(provider: ProviderId): Promise<'listed' | 'nobody' | CommandFailure | RecordStoreError> {
    try {
      if (!(await hasLogin(provider))) return 'nobody'
      const error = await (await providers()).fetchModels(provider, signal)
      if (error === undefined) return 'listed'
      if (error.kind === 'upstream_unusable' && error.detail === noModelList.detail) {
        return new CommandFailure(exitCode.failed, `${providerNames[provider]} did not answer with a model list.`)
      }
      return failureOf(new Fault(error))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof CommandFailure || error instanceof RecordStoreError) return error
      if (error instanceof Fault) return failureOf(error)
      throw error
    }
  }

  /**
   * Fetches the lists of all logins, once. A failing provider does not hide the models of another.
   * @throws CommandFailure `notLoggedIn` without any login, else the failure of the only provider in use
   */
  async function fetchAll(): Promise<void> {
    const names = ['copilot', 'codex'] as const
    const outcomes = await Promise.all(names.map(fetchOne))
    const failures = outcomes.map((outcome) => (typeof outcome === 'string' ? undefined : outcome))
    if (!outcomes.includes('listed')) {
      throw failures.find((failure) => failure !== undefined) ?? new CommandFailure(exitCode.notLoggedIn, loginAdvice)
    }
    for (const [at, failure] of failures.entries()) {
      const name = providerNames[names[at] ?? 'copilot']
      if (failure !== undefined) problems.push(`Could not get the models of ${name}: ${failure.message}`)
    }
  }

  async function registry() {
    await (fetched ??= fetchAll())
    return (await providers()).registry
  }

  async function listModels(): Promise<ModelList> {
    const models = await registry()
    return renderModelList(models.list(), config.copilot.upstreamDialect, models.listSwitchedOff())
  }

  async function findModel(name: string): Promise<ModelRow> {
    const found = (await registry()).resolve(name)
    if (found.ok) return renderModel(found.value, config.copilot.upstreamDialect)
    throw new RouteRefused({ status: statusOf(found.error), body: toOpenAiError(found.error, '') })
  }

  function usage(url: string): Promise<UsageReport> {
    const report = {
      account: async () => fetchAccountInUse(accountDeps(), config, signal),
      planUse: () => undefined,
      totals,
      budgets: createCreditLimit({ totals, config: () => config, now, log: silentLog }).budgets,
      demo: false,
      redact: secrets.redact,
      now,
    }
    return reportUsage(report, { caller: ownerCaller, url, requestId: '', signal })
  }

  function accountDeps() {
    const place = recordPlace(context, settings)
    const store = openRecordStore(copilotRecordKind, place, silentLog, { isReadOnly: true })
    return { store, githubToken: tokenOfEnvironment(context), fetch: context.fetch, now }
  }

  function answer(path: string): Promise<unknown> {
    const [resource = ''] = path.split('?', 1)
    if (resource === '/usage') return usage(path)
    if (resource === '/v1/models') return listModels()
    const [, name] = /^\/v1\/models\/(.+)$/.exec(resource) ?? []
    if (name !== undefined) return findModel(decodeURIComponent(name))
    throw new CommandFailure(exitCode.failed, 'copilot-proxy is not running. Run: copilot-proxy start')
  }

  return {
    get: async (path, schema) => schema.parse(await answer(path)),
    problems: () => problems,
    refusal: () => undefined,
    async close() {
      totals.close()
      await (await opened)?.close()
    },
  }
}

function failureOf(fault: Fault): CommandFailure {
  return new CommandFailure(exitCode.failed, toOpenAiError(fault.error, '').error.message, { cause: fault })
}
