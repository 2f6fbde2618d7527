import { ignoredProxy } from '../../config/proxy-variables.ts'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { formatConfigError, formatProblems } from '../../config/problem.ts'
import type { ConfigError, Problem } from '../../config/problem.ts'
import type { Config } from '../../config/schema.ts'
import { watchConfig } from '../../config/watch.ts'
import type { Daemon } from '../../daemon.ts'
import { createLog } from '../../logging/create-log.ts'
import type { ProgramLog } from '../../logging/create-log.ts'
import type { Background, enterBackground } from '../background/enter-background.ts'
import { loginAdvice, tokenOfEnvironment } from '../shared/accounts.ts'
import { findLogins } from '../shared/logins.ts'
import { changedRestartKeys } from '../shared/change-settings.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, ServeFlags } from '../shared/command.ts'
import { toConfigFlags, loadSettings, logFormatOf, withAbsoluteFolders } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { startHere } from '../shared/start-here.ts'
import {
  describePortHolder,
  toListenFailure,
  runtimeWarning,
  requireLoginsKept,
  exposedKeys,
  startWarnings,
} from './start-checks.ts'

/** For the last log entries to be written. Ms. */
const flushMs = 1000

const uncheckedCertificates =
  'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off all certificate checks, so an attacker on the network can steal your ' +
  'logins. To trust a company certificate, set NODE_EXTRA_CA_CERTS instead'

/** Runs the daemon until a signal. Returns 0 after SIGTERM, the usual way to stop a service. */
export async function serve(context: CommandContext, given: ServeFlags): Promise<ExitCode> {
  const flags = withAbsoluteFolders(context, given)
  if (flags.detach) return (await import('../background/start-daemon.ts')).detach(context, flags)
  const configFlags = toConfigFlags(flags)
  const settings = await loadSettings(context, flags.config, configFlags)
  const { config } = settings
  refuseExposed(context, settings)
  if (flags.workspace !== undefined) await requireWorkspaces(context, settings)
  const background = flags.background && (await loadBackground(context, flags.background, flags))
  const { level } = config.log
  // `copilot-proxy logs` formats it.
  const format = background === undefined ? logFormatOf(config, context) : 'json'
  const { redact } = context.secrets
  const log = createLog({ level, format, colors: context.stderr.hasColors, redact, target: background?.log })
  const aged = runtimeWarning(context.nodeVersion)
  if (aged !== undefined) log.warn(aged)
  if (context.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') log.warn(uncheckedCertificates)
  const unusedProxy = ignoredProxy(context.env)
  if (unusedProxy !== undefined) log.warn(`${unusedProxy.detail}. ${unusedProxy.fix}`)
  warnOfRetired(log, settings.warnings)
  for (const warning of startWarnings(settings, context.platform)) log.warn(warning)
  try {
    const demo = flags.demo ?? false
    const daemon = await startServing(context, settings, log, demo)
    await background?.announce(daemon.url)
    const isRead = background === undefined && level !== 'silent' && context.stderr.isTerminal
    // The only line on stdout: scripts read the address from it.
    context.stdout.write(`copilot-proxy listening on ${daemon.url}\n`)
    showPage(context, log, daemon, isRead)
    if (demo) {
      log.info('demo: a simulated Copilot and Codex answer all requests')
      const hasReader = background === undefined && (config.log.format !== 'json' || context.stderr.isTerminal)
      if (level !== 'silent' && hasReader) {
        context.stderr.write(demoHint(daemon, config))
      }
    }
    let current = config
    const watch = watchConfig({
      path: settings.configFile,
      env: context.env,
      flags: configFlags,
      current,
      onChange: (changed, sources) => {
        const isOpened = current.server.apiKeys.length > 0 && changed.server.apiKeys.length === 0
        current = changed
        reload(daemon, log, changed, config)
        if (isOpened) log.warn('the last key was removed: copilot-proxy can be used without a key now')
        const exposed = exposedKeys({ ...settings, config: changed, sources }, context.platform)
        if (exposed !== undefined) log.warn(exposed)
      },
      warnings: settings.warnings,
      onWarnings: (warnings) => warnOfRetired(log, warnings),
      onInvalid: (error) => {
        daemon.setConfigRefused(true)
        logInvalid(settings.configFile, log, error)
      },
      onValid: () => daemon.setConfigRefused(false),
    })
    if (!context.signal.aborted) await once(context.signal, 'abort')
    watch.close()
    const graceSeconds = current.server.shutdownGraceSeconds
    log.info(
      { signal: context.signal.reason, graceSeconds },
      'stopping when the running requests have finished; send the signal again to stop immediately',
    )
    await daemon.close(graceSeconds * 1000)
    log.info('stopped')
    return context.signal.reason === 'SIGTERM' ? exitCode.done : exitCode.interrupted
  } finally {
    await log.flush(flushMs)
    await background?.leave()
  }
}

function warnOfRetired(log: ProgramLog, warnings: readonly Problem[]): void {
  for (const warning of warnings) log.warn(formatProblems([warning]))
}

/** Loaded only in the background. */
async function loadBackground(...of: Parameters<typeof enterBackground>): Promise<Background> {
  return (await import('../background/enter-background.ts')).enterBackground(...of)
}

/** @throws CommandFailure `failed` for a folder that cannot be a workspace. The daemon only logs one of the configuration. */
async function requireWorkspaces(context: CommandContext, settings: LoadedSettings): Promise<void> {
  const { openWorkspaceFolder } = await import('../shared/workspace-folder.ts')
  for (const workspace of settings.config.workspaces) await openWorkspaceFolder(context, settings, workspace)
}

function refuseExposed(context: CommandContext, settings: LoadedSettings): void {
  if (!settings.config.auth.strictPermissions) return
  const exposed = exposedKeys(settings, context.platform)
  if (exposed !== undefined) throw new CommandFailure(exitCode.usage, `${exposed} (auth.strict-permissions)`)
}

/** @throws CommandFailure `failed` if the daemon cannot listen */
async function startServing(
  context: CommandContext,
  settings: LoadedSettings,
  log: ProgramLog,
  demo: boolean,
): Promise<Daemon> {
  const { config, dataDir, usageFile, gatewayDir } = settings
  if (!demo) await requireLoginsKept(context, settings)
  const hasToken = tokenOfEnvironment(context) !== undefined
  const onAccount = (account: string | undefined): void => {
    if (demo) return
    if (account === undefined) log.warn(loginAdvice)
    else log.info({ account: hasToken ? 'COPILOT_GITHUB_TOKEN' : account }, 'logged in')
  }
  try {
    return await startHere(context, settings, {
      config,
      demo,
      log,
      usageFile,
      gatewayDir,
      ownerTokenDir: dataDir,
      portHolder: (address) => describePortHolder(context, address),
      codexFiles: settings,
      workingDir: context.workingDir,
      onAccount,
    })
  } catch (error) {
    throw (await toListenFailure(context, config.server, error)) ?? error
  }
}

/** The address with its code is written for a person only: never by the log, and never where a file or a service keeps it. */
function showPage({ stderr }: CommandContext, log: ProgramLog, daemon: Daemon, isRead: boolean): void {
  if (isRead) stderr.write(`Page (works once): ${daemon.createPageAddress()}\n`)
  else log.info('to open the page, run: copilot-proxy page')
}

/** A command to try, on stderr. */
function demoHint(daemon: Daemon, config: Config): string {
  const ids = daemon.models().map(({ id }) => id)
  const model = ids.find((id) => id === 'gpt-5-mini') ?? ids[0] ?? 'gpt-5-mini'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello' }] })
  const key = config.server.apiKeys.length === 0 ? '' : ` -H 'authorization: Bearer YOUR_KEY'`
  return (
    'Demo: a simulated Copilot answers. Try:\n' +
    `  curl ${daemon.url}/v1/chat/completions -H 'content-type: application/json'${key} -d '${body}'\n`
  )
}

/** One log entry per problem. */
function logInvalid(configFile: string, log: ProgramLog, error: ConfigError): void {
  if (isGone(configFile)) {
    log.error({ file: configFile }, 'the configuration file was deleted; the old settings remain in use')
    return
  }
  for (const problem of error.problems) {
    const where = formatConfigError({ problems: [problem] })
    log.error(`the changed configuration is invalid; the old settings remain in use: ${where}`)
  }
}

function isGone(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    // The file may exist and be inaccessible.
    return false
  }
}

/** Applies a changed configuration, and logs which keys need a restart. */
function reload(daemon: Daemon, log: ProgramLog, changed: Config, atStart: Config): void {
  log.setLevel(changed.log.level)
  daemon.reconfigure(changed)
  log.info('configuration reloaded')
  const waiting = changedRestartKeys(atStart, changed)
  if (waiting.length > 0) log.warn({ keys: waiting }, 'these settings need a restart: copilot-proxy restart')
}

/** `copilot-proxy` without a command: logs in to Copilot if no login exists, then serves. */
export async function loginAndServe(context: CommandContext, given: ServeFlags): Promise<ExitCode> {
  const flags = withAbsoluteFolders(context, given)
  const settings = await loadSettings(context, flags.config, toConfigFlags(flags))
  if (!flags.demo) await ensureLogin(context, settings)
  return serve(context, flags)
}

/**
 * Logs in to Copilot if no login exists. Without a terminal nobody could complete the login, so it fails.
 * @throws CommandFailure `notLoggedIn`; `failed` if a stored login cannot be read; RecordStoreError
 */
async function ensureLogin(context: CommandContext, settings: LoadedSettings): Promise<void> {
  if ((await findLogins(context, settings)).length > 0) return
  if (!context.interactive) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  const { connectAccount } = await import('../login/login.ts')
  await connectAccount(context, settings, { browser: true })
  context.stdout.write('\n')
}
