import { isAbsolute, join } from 'node:path'
import { loadConfig } from '../config/load.ts'
import type { Flag, Sources } from '../config/load.ts'
import { PathsError, resolvePaths, resolveStateDir } from '../config/paths.ts'
import { formatConfigError } from '../config/problem.ts'
import type { ConfigError } from '../config/problem.ts'
import { readConfigFile } from '../config/read-config-file.ts'
import type { Config } from '../config/schema.ts'
import { secretValues } from '../config/secret-values.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/** Where this user's files are, whether or not they exist. */
export interface FilePlaces {
  readonly configFile: string
  /** The user named the configuration file, so it has to be there. */
  readonly isNamed: boolean
  readonly authDir: string
  /** Totals of usage, by day and model. */
  readonly usageFile: string
  readonly clientIdsFile: string
}

export interface LoadedSettings extends FilePlaces {
  readonly config: Config
  readonly sources: Sources
  /** False: there is no configuration file, and defaults, environment and flags are all there is. */
  readonly hasFile: boolean
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: LoadedSettings }
  | { readonly ok: false; readonly places: FilePlaces; readonly error: ConfigError }

/**
 * @param configFlag `--config` as written
 * @throws CommandFailure `failed` where a folder that is needed does not exist for this process, `usage` where
 * COPILOT_PROXY_HOME is not a path to use
 */
export function findFiles(context: CommandContext, configFlag: string | undefined): FilePlaces {
  const { configFile, authDir, dataDir } = resolveFiles(context)
  const usageFile = join(dataDir, 'usage.sqlite')
  const clientIdsFile = join(dataDir, 'client-ids.json')
  if (configFlag === undefined) return { configFile, isNamed: false, authDir, usageFile, clientIdsFile }
  const named = isAbsolute(configFlag) ? configFlag : join(workingDirOf(context), configFlag)
  return { configFile: named, isNamed: true, authDir, usageFile, clientIdsFile }
}

function resolveFiles(context: CommandContext): ReturnType<typeof resolvePaths> {
  return withPathsTold(() => resolvePaths(context.env, () => homeOf(context), context.platform))
}

/** The folder of a background daemon's log and record. @throws as `findFiles` */
export function findStateDir(context: CommandContext): string {
  return withPathsTold(() => resolveStateDir(context.env, () => homeOf(context), context.platform))
}

function withPathsTold<T>(resolve: () => T): T {
  try {
    return resolve()
  } catch (error) {
    if (error instanceof PathsError) throw new CommandFailure(exitCode.usage, error.message)
    throw error
  }
}

/** @throws CommandFailure `failed` */
export function homeOf(context: CommandContext): string {
  try {
    const home = context.homeDir()
    if (isAbsolute(home)) return home
  } catch {
    // Said below: a home that is no path is as little use as none.
  }
  throw new CommandFailure(exitCode.failed, 'This user has no home folder: set HOME or COPILOT_PROXY_HOME.')
}

function workingDirOf(context: CommandContext): string {
  try {
    return context.workingDir()
  } catch (cause) {
    const message = 'The working directory has been deleted: give --config a path that starts at the root.'
    throw new CommandFailure(exitCode.failed, message, { cause })
  }
}

/** Reads and checks file, environment and flags. */
export async function readSettings(
  context: CommandContext,
  configFlag: string | undefined,
  flags: readonly Flag[] = [],
): Promise<SettingsResult> {
  const places = findFiles(context, configFlag)
  const read = await readConfigFile(places.configFile, { required: places.isNamed })
  if (!read.ok) return { ok: false, places, error: read.error }
  const loaded = loadConfig({ file: read.file, env: context.env, flags })
  if (!loaded.ok) return { ok: false, places, error: loaded.error }
  context.secrets.hold('settings', ...secretValues(loaded.value))
  const settings = { ...places, config: loaded.value, sources: loaded.sources, hasFile: read.file !== undefined }
  return { ok: true, settings }
}

/**
 * As `readSettings`, for commands that cannot go on without valid settings.
 * @throws CommandFailure `usage`, one line per problem
 */
export async function loadSettings(
  context: CommandContext,
  configFlag: string | undefined,
  flags: readonly Flag[] = [],
): Promise<LoadedSettings> {
  const result = await readSettings(context, configFlag, flags)
  if (result.ok) return result.settings
  throw new CommandFailure(exitCode.usage, `The configuration is not valid:\n${formatConfigError(result.error)}`)
}
