import { statSync } from 'node:fs'
import type { Flag } from '../config/load.ts'
import { formatConfigError } from '../config/problem.ts'
import type { ConfigError } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { watchConfig } from '../config/watch.ts'
import { createLog } from '../create-log.ts'
import type { ProgramLog } from '../create-log.ts'
import type { Daemon } from '../daemon.ts'
import { findCodexHome } from './codex-home.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { toListenFailure } from './listen-failure.ts'
import { loginAdvice, tokenOfEnvironment } from './account.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

/** For the last log lines to be written before the process ends. Ms. */
const flushMs = 1000

/** Runs the daemon until a signal comes. Ends with 0 after SIGTERM, the usual way to stop a service. */
export async function serve(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const configFlags = toConfigFlags(flags)
  const settings = await loadSettings(context, flags.config, configFlags)
  const { config } = settings
  const { level, format } = config.log
  const log = createLog({ level, format, colors: context.stderr.hasColors })
  try {
    const demo = flags.demo ?? false
    const daemon = await start(context, settings, log, demo)
    // The only line on stdout: a script reads the address from it.
    context.stdout.write(`copilot-proxy listening on ${daemon.url}\n`)
    if (demo) {
      log.info('answers come from a simulated Copilot and a simulated Codex; no account, no network')
      if (level !== 'silent' && (format === 'pretty' || context.stderr.isTerminal)) {
        context.stderr.write(demoHint(daemon, config))
      }
    }
    let current = config
    const watch = watchConfig({
      path: settings.configFile,
      env: context.env,
      flags: configFlags,
      current,
      onChange: (changed) => {
        current = changed
        reload(daemon, log, changed, config)
      },
      onInvalid: (error) => tellInvalid(settings.configFile, log, error),
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
  }
}

function toConfigFlags(flags: ServeFlags): readonly Flag[] {
  const options = [
    { name: '--port', key: 'server.port', text: flags.port },
    { name: '--host', key: 'server.host', text: flags.host },
    { name: '--log-level', key: 'log.level', text: flags.logLevel },
    { name: '--log-format', key: 'log.format', text: flags.logFormat },
  ] as const
  return options.flatMap(({ name, key, text }) => (text === undefined ? [] : [{ name, key, text }]))
}

/** @throws CommandFailure `failed` when the daemon cannot listen */
async function start(
  context: CommandContext,
  settings: LoadedSettings,
  log: ProgramLog,
  demo: boolean,
): Promise<Daemon> {
  const { config, authDir } = settings
  const { env, version, beforeExit } = context
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
      codexHome: findCodexHome(context),
      version,
      log,
      demo,
      githubToken,
      env,
      onAccount,
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
  ]
  if (waiting.length > 0) log.warn({ keys: waiting }, 'these keys take effect when copilot-proxy is restarted')
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
