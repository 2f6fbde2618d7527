import { codexRecordKind } from '../auth/codex/record.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import { openRecordStore } from '../auth/open-record-store.ts'
import { connectCodex } from '../codex-connection.ts'
import { connectCopilot } from '../copilot-connection.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import { parseCodexModels } from '../models/codex-model.ts'
import { codexSeeds } from '../models/codex-seeds.ts'
import { parseAccountModels } from '../models/auto-model.ts'
import type { Model, ModelListing } from '../models/model.ts'
import { copilotSeeds } from '../models/seeds.ts'
import { findLogin, quietLog, recordPlace, tokenOfEnvironment, troubleLog } from './account.ts'
import { findCodexHome } from './codex-home.ts'
import { hasCodexLogin, readCodexState } from './codex-status.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { LoadedSettings } from './settings.ts'

/** A provider whose models can be asked for without a daemon. */
export interface ModelSource {
  readonly provider: ProviderId
  /** For people: `Copilot`. */
  readonly name: string
  /** What a daemon lists in place of the account's own models. */
  readonly seeds: readonly Model[]
  /** Whether a daemon does so while nobody is logged in. */
  readonly seedsWithoutLogin: boolean
  /**
   * Asks as whoever is logged in there; undefined when nobody is.
   * @throws CommandFailure, RecordStoreError where the login cannot be looked up
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
    const { env, fetch, now } = context
    const { executor, close } = connectCopilot(
      {
        // What is wrong with the records has been told when the login was looked up.
        store: openRecordStore(copilotRecordKind, recordPlace(context, settings), quietLog),
        githubToken: tokenOfEnvironment(context),
        log: troubleLog(context),
        noteSecrets: context.secrets.note,
        redact: context.secrets.redact,
        fetch,
        now,
        env,
      },
      settings.config,
    )
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
    const { env, fetch, now, version } = context
    const deps = {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), quietLog),
      codexHome: findCodexHome(context),
      ...(context.beforeExit && { beforeExit: context.beforeExit }),
      log: troubleLog(context),
      noteSecrets: context.secrets.note,
      redact: context.secrets.redact,
      onModelsChanged: () => {},
      fetch,
      now,
      env,
      version,
    }
    const connection = connectCodex(deps, settings.config)
    return connection && { listModels: connection.executor.listModels, close: connection.close }
  },
  parse: parseCodexModels,
}

/** Every provider, in the order in which a daemon lists their models. */
export const modelSources: readonly ModelSource[] = [copilotSource, codexSource]
