import { statSync } from 'node:fs'
import { formatConfigError } from '../config/problem.ts'
import type { ConfigError } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { watchConfig } from '../config/watch.ts'
import { createLog } from '../create-log.ts'
import type { ProgramLog } from '../create-log.ts'
import type { Daemon } from '../daemon.ts'
import { runtimeWarning } from '../runtime-floor.ts'
import type { Background, enterBackground } from './background/enter.ts'
import { findCodexHome } from './codex-home.ts'
import { toConfigFlags } from './config-flags.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { toListenFailure } from './listen-failure.ts'
import { loginAdvice, tokenOfEnvironment } from './account.ts'
import { requireLoginsKept } from './require-logins.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { exposedKeys, startWarnings } from './start-warnings.ts'

/** For the last log lines to be written before the process ends. Ms. */
const flushMs = 1000

const uncheckedCertificates =
  'NODE_TLS_REJECT_UNAUTHORIZED=0: no certificate is checked, and whoever answers for GitHub or OpenAI gets the ' +
  'credentials. To trust the certificate of a company, set NODE_EXTRA_CA_CERTS instead'

/** Runs the daemon until a signal comes. Ends with 0 after SIGTERM, the usual way to stop a service. */
export async function serve(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  if (flags.detach) return (await import('./detach.ts')).detach(context, flags)
  const configFlags = toConfigFlags(flags)
  const settings = await loadSettings(context, flags.config, configFlags)
  const { config } = settings
  refuseExposed(context, settings)
  const background = flags.background && (await loadBackground(context, flags.background, flags))
  const { level } = config.log
  // `copilot-proxy logs` makes of it what people like to read.
  const format = background === undefined ? formatOf(config, context) : 'json'
  const { redact } = context.secrets
  const log = createLog({ level, format, colors: context.stderr.hasColors, redact, target: background?.log })
  const aged = runtimeWarning(context.nodeVersion)
  if (aged !== undefined) log.warn(aged)
  if (context.env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') log.warn(uncheckedCertificates)
  for (const warning of startWarnings(settings, context.platform)) log.warn(warning)
  try {
    const demo = flags.demo ?? false
    const daemon = await start(context, settings, log, demo)
    await background?.announce(daemon.url)
    // The only line on stdout: a script reads the address from it.
    context.stdout.write(`copilot-proxy listening on ${daemon.url}\n`)
    if (demo) {
      log.info('answers come from a simulated Copilot and a simulated Codex; no account, no network')
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
        if (isOpened) log.warn('no key is asked for any more: every program on this machine is let in')
        const exposed = exposedKeys({ ...settings, config: changed, sources }, context.platform)
        if (exposed !== undefined) log.warn(exposed)
      },
      onInvalid: (error) => {
        daemon.setConfigRefused(true)
        tellInvalid(settings.configFile, log, error)
      },
      onValid: () => daemon.setConfigRefused(false),
    })
    await aborted(context.signal)
    watch.close()
    const graceSeconds = current.server.shutdownGraceSeconds
    log.info({ signal: context.signal.reason, graceSeconds }, 'stopping; a second signal does not wait for requests')
    await daemon.close(graceSeconds * 1000)
    log.info('stopped')
    return context.signal.reason === 'SIGTERM' ? exitCode.done : exitCode.interrupted
  } finally {
    await log.flush(flushMs)
    await background?.leave()
  }
}

function formatOf({ log }: Config, { stderr }: CommandContext): 'pretty' | 'json' {
  if (log.format !== 'auto') return log.format
  return stderr.isTerminal ? 'pretty' : 'json'
}

/** Not needed by one that runs in a terminal. */
async function loadBackground(...of: Parameters<typeof enterBackground>): Promise<Background> {
  return (await import('./background/enter.ts')).enterBackground(...of)
}

/** @throws CommandFailure `usage` */
function refuseExposed(context: CommandContext, settings: LoadedSettings): void {
  if (!settings.config.auth.strictPermissions) return
  const exposed = exposedKeys(settings, context.platform)
  if (exposed !== undefined) throw new CommandFailure(exitCode.usage, `${exposed} (auth.strict-permissions)`)
}

/** @throws CommandFailure `failed` when the daemon cannot listen */
async function start(
  context: CommandContext,
  settings: LoadedSettings,
  log: ProgramLog,
  demo: boolean,
): Promise<Daemon> {
  const { config, authDir, usageFile, clientIdsFile } = settings
  const { env, version, beforeExit, keychain, engine } = context
  if (!demo) await requireLoginsKept(context, settings)
  const [{ startDaemon }] = await Promise.all([import('../daemon.ts'), context.prepareFetch()])
  const githubToken = tokenOfEnvironment(context)
  const onAccount = (account: string | undefined): void => {
    if (demo) return
    if (account === undefined) log.warn(loginAdvice)
    else log.info({ account: githubToken === undefined ? account : 'COPILOT_GITHUB_TOKEN' }, 'logged in')
  }
  try {
    return await startDaemon({
      config,
      authDir,
      usageFile,
      clientIdsFile,
      keychain,
      codexHome: findCodexHome(context),
      version,
      log,
      demo,
      githubToken,
      env,
      secrets: context.secrets,
      onAccount,
      engine,
      ...(beforeExit && { beforeExit }),
    })
  } catch (error) {
    throw (await toListenFailure(context, config.server, error)) ?? error
  }
}

/** A command to try right away; for people, hence not on stdout. */
function demoHint(daemon: Daemon, config: Config): string {
  const ids = daemon.models().map(({ id }) => id)
  const model = ids.find((id) => id === 'gpt-5-mini') ?? ids[0] ?? 'gpt-5-mini'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello' }] })
  const key = config.server.apiKeys.length === 0 ? '' : ` -H 'authorization: Bearer YOUR_KEY'`
  return (
    'The simulated Copilot answers. Try:\n' +
    `  curl ${daemon.url}/v1/chat/completions -H 'content-type: application/json'${key} -d '${body}'\n`
  )
}

/** A line for each problem, so that each can be found and read. */
function tellInvalid(configFile: string, log: ProgramLog, error: ConfigError): void {
  if (isGone(configFile)) {
    log.error({ file: configFile }, 'the configuration file is gone; the old settings stay')
    return
  }
  for (const problem of error.problems) {
    const where = formatConfigError({ problems: [problem] })
    log.error(`the changed configuration is not valid, the old settings stay: ${where}`)
  }
}

function isGone(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    // It may be there, but may not be looked at.
    return false
  }
}

/** Hands a changed configuration on, and says what of it has to wait for a restart. */
function reload(daemon: Daemon, log: ProgramLog, changed: Config, atStart: Config): void {
  log.setLevel(changed.log.level)
  daemon.reconfigure(changed)
  log.info('the changed configuration is in force')
  const waiting = [
    ...(changed.server.host === atStart.server.host ? [] : ['server.host']),
    ...(changed.server.port === atStart.server.port ? [] : ['server.port']),
    ...(changed.log.format === atStart.log.format ? [] : ['log.format']),
    ...(changed.auth.store === atStart.auth.store ? [] : ['auth.store']),
    ...(changed.auth.strictPermissions === atStart.auth.strictPermissions ? [] : ['auth.strict-permissions']),
  ]
  if (waiting.length > 0) log.warn({ keys: waiting }, 'these keys take effect when copilot-proxy is restarted')
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
