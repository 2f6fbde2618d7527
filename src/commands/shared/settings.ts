import { isAbsolute, join, resolve } from 'node:path'
import { loadConfig } from '../../config/load.ts'
import type { Flag, Sources } from '../../config/load.ts'
import { PathsError, resolveOwnFolders, resolvePaths, resolveStateDir } from '../../config/paths.ts'
import type { OwnPaths } from '../../config/paths.ts'
import { formatConfigError, formatProblems, formatSource } from '../../config/problem.ts'
import type { ConfigError, Problem } from '../../config/problem.ts'
import { readConfigFile } from '../../config/read-config-file.ts'
import { configSchema } from '../../config/schema.ts'
import type { Config } from '../../config/schema.ts'
import { secretValues } from '../../config/secrets.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext, ServeFlags } from './command.ts'

/** Paths of this user's files, which may not exist. */
export interface UserFiles {
  readonly configFile: string
  /** The user named the configuration file, so it has to exist. */
  readonly isNamed: boolean
  readonly authDir: string
  /** Has the file `owner-token` of a running daemon. */
  readonly dataDir: string
  /** Totals of usage, by day and model. */
  readonly usageFile: string
  /** The models that `setup codex` gives Codex CLI: a file for each of its configurations. */
  readonly codexModelsDir: string
  /** What is known of the Codex CLI of this user. */
  readonly codexCliFile: string
  /** Journals of workspaces. */
  readonly workspacesDir: string
  /** Records of running gateways for tool providers. */
  readonly gatewayDir: string
}

export interface LoadedSettings extends UserFiles {
  readonly config: Config
  readonly sources: Sources
  /** Retired settings that file and environment still have. */
  readonly warnings: readonly Problem[]
  /** False: only defaults, environment and flags are in force. */
  readonly hasFile: boolean
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: LoadedSettings }
  | { readonly ok: false; readonly places: UserFiles; readonly error: ConfigError }

/**
 * @param configFlag `--config` as written
 * @throws CommandFailure `failed` if the home or working directory does not exist, `usage` if COPILOT_PROXY_HOME
 * is not a usable path
 */
export function findFiles(context: CommandContext, configFlag: string | undefined): UserFiles {
  const { configFile, authDir, dataDir } = resolveFiles(context)
  const usageFile = join(dataDir, 'usage.sqlite')
  const codexModelsDir = join(dataDir, 'codex-models')
  const codexCliFile = join(dataDir, 'codex-cli.json')
  const [workspacesDir, gatewayDir] = [join(dataDir, 'workspaces'), join(dataDir, 'gateway')]
  const codexFiles = { codexModelsDir, codexCliFile }
  const files = { authDir, dataDir, usageFile, ...codexFiles, workspacesDir, gatewayDir }
  if (configFlag === undefined) return { configFile, isNamed: false, ...files }
  const named = isAbsolute(configFlag) ? configFlag : join(workingDirOf(context, '--config'), configFlag)
  return { configFile: named, isNamed: true, ...files }
}

function resolveFiles(context: CommandContext): ReturnType<typeof resolvePaths> {
  return reportPathErrors(() => resolvePaths(context.env, () => homeOf(context), context.platform))
}

/** The folder of a background daemon's log and record. @throws as `findFiles` */
export function findStateDir(context: CommandContext): string {
  return reportPathErrors(() => resolveStateDir(context.env, () => homeOf(context), context.platform))
}

/**
 * The files of this program and of its logins, which no tool of a workspace reads or changes.
 * @param configFile the configuration in use, which may be outside the usual folder
 */
export function findOwnPaths(context: CommandContext, configFile: string): OwnPaths {
  const codexHome = findCodexHome(context)
  return {
    folders: resolveOwnFolders(context.env, () => homeOf(context), context.platform),
    files: [configFile, ...(codexHome === undefined ? [] : [join(codexHome, 'auth.json')])],
  }
}

/**
 * The folder of Codex CLI, which may not exist (docs/codex-wire.md, "Stored login of Codex CLI"). Undefined without
 * CODEX_HOME and home folder, or without a working directory for a relative CODEX_HOME.
 */
export function findCodexHome({ env, homeDir, workingDir }: CommandContext): string | undefined {
  const named = env['CODEX_HOME'] ?? ''
  if (isAbsolute(named)) return named
  try {
    const start = named === '' ? homeDir() : workingDir()
    return isAbsolute(start) ? join(start, named === '' ? '.codex' : named) : undefined
  } catch {
    return undefined
  }
}

function reportPathErrors<T>(find: () => T): T {
  try {
    return find()
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
    // A relative home is as useless as none.
  }
  throw new CommandFailure(exitCode.failed, 'You have no home folder. Set HOME or COPILOT_PROXY_HOME.')
}

function workingDirOf(context: CommandContext, option: string): string {
  try {
    return context.workingDir()
  } catch (cause) {
    const message = `The working directory was deleted. Use an absolute path for ${option}.`
    throw new CommandFailure(exitCode.failed, message, { cause })
  }
}

export async function readSettings(
  context: CommandContext,
  configFlag: string | undefined,
  flags: readonly Flag[] = [],
  leftOut?: readonly string[],
): Promise<SettingsResult> {
  const places = findFiles(context, configFlag)
  const read = await readConfigFile(places.configFile, { required: places.isNamed })
  if (!read.ok) return { ok: false, places, error: read.error }
  const loaded = loadConfig({ file: read.file, env: context.env, flags, leftOut })
  if (!loaded.ok) return { ok: false, places, error: loaded.error }
  context.secrets.hold('settings', ...secretValues(loaded.value))
  const { value: config, sources, warnings } = loaded
  const settings = { ...places, config, sources, warnings, hasFile: read.file !== undefined }
  return { ok: true, settings }
}

/**
 * As `readSettings`, for commands that need valid settings.
 * @throws CommandFailure `usage`, one line per problem
 */
export async function loadSettings(
  context: CommandContext,
  configFlag: string | undefined,
  flags: readonly Flag[] = [],
): Promise<LoadedSettings> {
  return requireValid(await readSettings(context, configFlag, flags))
}

/** Sections that decide where a login goes and where it is stored. */
const loginSections = new Set(['auth', 'copilot', 'copilot-oauth', 'codex'])

/**
 * As `loadSettings`, for a login: faults in settings that it does not use are a note, and the defaults of their sections hold.
 * @throws CommandFailure `usage`
 */
export async function loadLoginSettings(
  context: CommandContext,
  configFlag: string | undefined,
): Promise<LoadedSettings> {
  const result = await readSettings(context, configFlag)
  if (result.ok) return result.settings
  const faulty = [...new Set(result.error.problems.map(({ key }) => key.split('.', 1)[0] ?? ''))]
  // An unknown section may be a misspelt one of the login's.
  const isApart = faulty.every((section) => Object.hasOwn(configSchema.shape, section) && !loginSections.has(section))
  const settings = requireValid(isApart ? await readSettings(context, configFlag, [], faulty) : result)
  const note = 'the configuration is invalid, in settings that a login does not use'
  context.stderr.write(visibleLines(`Note: ${note}:\n${formatConfigError(result.error)}\n`))
  return settings
}

/** @throws CommandFailure `usage`, one line per problem */
function requireValid(result: SettingsResult): LoadedSettings {
  if (result.ok) return result.settings
  const { problems } = result.error
  // Then the configuration itself is valid.
  const isUsage = problems.every(({ source }) => source.kind === 'flag')
  const message = isUsage
    ? problems.map(({ source, detail }) => `${formatSource(source)}: ${detail}`).join('\n')
    : `The configuration is invalid:\n${formatConfigError(result.error)}`
  throw new CommandFailure(exitCode.usage, message)
}

/** The format of the log: lines for a person on a terminal, JSON elsewhere, unless the configuration says which. */
export function logFormatOf({ log }: Config, { stderr }: CommandContext): 'pretty' | 'json' {
  if (log.format !== 'auto') return log.format
  return stderr.isTerminal ? 'pretty' : 'json'
}

/** Tells the person which retired settings have no effect. */
export function showWarnings({ stderr }: CommandContext, { warnings }: LoadedSettings): void {
  if (warnings.length > 0) stderr.write(visibleLines(`${formatProblems(warnings)}\n`))
}

/**
 * The options of `serve` that override settings.
 * @param flags of `withAbsoluteFolders`
 */
export function toConfigFlags(flags: ServeFlags): readonly Flag[] {
  const options = [
    { name: '--port', key: 'server.port', text: flags.port },
    { name: '--host', key: 'server.host', text: flags.host },
    { name: '--log-level', key: 'log.level', text: flags.logLevel },
    { name: '--log-format', key: 'log.format', text: flags.logFormat },
    { name: '--workspace', key: 'workspaces', text: flags.workspace && JSON.stringify(flags.workspace) },
  ] as const
  return options.flatMap(({ name, key, text }) => (text === undefined ? [] : [{ name, key, text }]))
}

/**
 * Relative folders of `--workspace` mean those of this working directory, also in the background daemon.
 * @throws CommandFailure `failed` if the working directory does not exist
 */
export function withAbsoluteFolders(context: CommandContext, flags: ServeFlags): ServeFlags {
  if (flags.workspace === undefined) return flags
  const workspace = flags.workspace.map((dir) =>
    isAbsolute(dir) || /^~(?:\/|$)/.test(dir) ? dir : resolve(workingDirOf(context, '--workspace'), dir),
  )
  return { ...flags, workspace }
}
