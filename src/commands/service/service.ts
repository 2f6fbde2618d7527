import { execFile } from 'node:child_process'
import * as nodeFs from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { systemEnvironment } from '../../auth/records/process-start.ts'
import { removeIfThere, replaceFile } from '../../auth/records/atomic-file.ts'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { callerKeyVariable } from '../../config/environment.ts'
import { hasOtherOptions, networkVariables } from '../../config/network-variables.ts'
import { hideLogin, proxyVariables } from '../../config/proxy-variables.ts'
import { formatPairs } from '../../terminal/table.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import {
  daemonDocument,
  findStateFiles,
  findRunningDaemon,
  openStateFiles,
  withBackgroundLock,
} from '../background/background-daemon.ts'
import type { StateFiles, DaemonRecord, StartedDaemon } from '../background/background-daemon.ts'
import { stopDaemon } from '../background/stop.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags, ServiceFlags } from '../shared/command.ts'
import { findDaemon } from '../shared/find-daemon.ts'
import { loadSettings, homeOf } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { launchd, marker, systemd } from './managers.ts'
import type { CommandLine, ServiceDefinition, ServiceManager } from './managers.ts'

/**
 * Makes copilot-proxy a service of this user, and starts it in place of a running background daemon. Without a usable
 * service manager, it writes the file and prints the commands to run.
 */
export async function serviceInstall(
  context: CommandContext,
  flags: ServiceFlags,
  system: ServiceSystem = realSystem,
): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const manager = findManager(context, system)
  const { definition, leftOut } = defineService(context, settings)
  const { names: logins, shown } = hideLogins(definition.environment)
  if (flags.dryRun) {
    const without = logins.length === 0 ? '' : ` (the login in ${logins.join(', ')} is hidden here)`
    context.stderr.write(`Would write ${visible(manager.file)}${without}:\n`)
    context.stdout.write(manager.text({ ...definition, environment: shown }))
    for (const note of installNotes(context, manager, { leftOut, logins: [] })) context.stderr.write(`${note}\n`)
    return exitCode.done
  }
  await refuseForeign(manager)
  const { shutdownGraceSeconds } = settings.config.server
  const files = await openStateFiles(context)
  await refuseOther(context, settings, files)
  await tellingErrors(manager, async () => {
    await nodeFs.mkdir(dirname(manager.file), { recursive: true })
    // Only this user can read the file: a proxy's address may hold a password.
    await replaceFile(nodeFs, manager.file, manager.text(definition), 0o600)
  })
  const isUsable = (await system.run(manager.probe, context.env)).code === 0
  const record = isUsable
    ? await withBackgroundLock(context, files, shutdownGraceSeconds, async () => {
        const running = await findRunningDaemon(context, files)
        if (running?.starter === 'detach') await stopDaemon(context, shutdownGraceSeconds, running)
        for (const { command, mayFail, whileThere } of manager.activate) {
          if (mayFail) await system.run(command, context.env)
          else await runOrFail(context, system, command)
          if (whileThere !== undefined) await awaitGone(context, system, whileThere, definition.stopSeconds)
        }
        return awaitService(context, files, system, manager, running)
      })
    : undefined
  if (flags.json) {
    const partlyLeftOut = hasOtherOptions(context.env) ? ['NODE_OPTIONS'] : []
    const daemon = record === undefined ? null : daemonDocument(record)
    writeJson(context, { file: manager.file, active: isUsable, daemon, left_out: [...leftOut, ...partlyLeftOut] })
    return exitCode.done
  }
  context.stdout.write(
    record === undefined
      ? `Wrote ${visible(manager.file)}. ${manager.name} is not available here. To start the service, run:\n` +
          manager.activateByHand.map((line) => `  ${line}\n`).join('')
      : `Installed the service. copilot-proxy is running at ${visible(record.url)} (process ${record.pid})\n`,
  )
  for (const note of installNotes(context, manager, { leftOut, logins })) context.stderr.write(`${note}\n`)
  return exitCode.done
}

function installNotes(
  { env, self }: CommandContext,
  { file, note }: ServiceManager,
  { leftOut, logins }: { readonly leftOut: readonly string[]; readonly logins: readonly string[] },
): readonly string[] {
  const isTemporary = self.some((part) => /[/\\]_npx[/\\]/.test(part))
  return [
    ...(leftOut.length === 0
      ? []
      : [
          `The service does not use ${leftOut.join(', ')} from this terminal. Log in and use the configuration file instead.`,
        ]),
    ...(hasOtherOptions(env)
      ? ['Of NODE_OPTIONS, the service uses only the options for the network and certificates.']
      : []),
    ...(logins.length === 0
      ? []
      : [
          `${visible(file)} contains the login of your proxy (${logins.join(', ')}). Only you can read it. Do not share it.`,
        ]),
    ...(isTemporary
      ? ['This copilot-proxy is in the npx cache, which npm may delete. Install it, then run this again.']
      : []),
    ...(note === undefined ? [] : [note]),
  ]
}

/** Stops the service and removes its file; succeeds if neither exists. */
export async function serviceUninstall(
  context: CommandContext,
  flags: ReportFlags,
  system: ServiceSystem = realSystem,
): Promise<ExitCode> {
  const manager = findManager(context, system)
  await refuseForeign(manager)
  const isInstalled = (await readText(manager)) !== undefined
  if (isInstalled) {
    const isUsable = (await system.run(manager.probe, context.env)).code === 0
    // Errors mean that the service is not loaded.
    if (isUsable) for (const command of manager.deactivate) await system.run(command, context.env)
    await tellingErrors(manager, () => removeIfThere(nodeFs, manager.file))
    if (isUsable) for (const command of manager.afterRemoval) await system.run(command, context.env)
  }
  if (flags.json) writeJson(context, { file: manager.file, removed: isInstalled })
  else {
    context.stdout.write(
      isInstalled ? `Removed the service and ${visible(manager.file)}\n` : 'The service is not installed.\n',
    )
  }
  return exitCode.done
}

export async function serviceStatus(
  context: CommandContext,
  flags: ReportFlags,
  system: ServiceSystem = realSystem,
): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const manager = findManager(context, system)
  const text = await readText(manager)
  const isCurrent = text === undefined || text === manager.text(defineService(context, settings).definition)
  const shown = text === undefined ? undefined : await system.run(manager.show, context.env)
  const state = shown?.code === 0 ? manager.parseState(shown.stdout) : undefined
  const running = await findRunningDaemon(context, findStateFiles(context))
  const daemon = running?.starter === 'service' ? running : undefined
  if (flags.json) {
    writeJson(context, {
      installed: text !== undefined,
      file: manager.file,
      current: isCurrent,
      running: state?.running ?? false,
      state: state?.detail ?? null,
      daemon: daemon === undefined ? null : daemonDocument(daemon),
    })
    return exitCode.done
  }
  if (text === undefined) {
    context.stdout.write('The service is not installed. Run: copilot-proxy service install\n')
    return exitCode.done
  }
  const pairs = [
    [
      'Service',
      visible(state?.detail ?? `unknown: ${manager.name} is not available here, or has not loaded the service`),
    ],
    ['Address', daemon === undefined ? '' : visible(daemon.url)],
    ['File', visible(manager.file)],
    ['', isCurrent ? '' : 'outdated: the paths or settings have changed. Run: copilot-proxy service install'],
  ] as const
  context.stdout.write(formatPairs(pairs, context.stdout.style))
  return exitCode.done
}

/** @throws CommandFailure `failed` if a daemon in a terminal uses the service's address */
async function refuseOther(context: CommandContext, settings: LoadedSettings, files: StateFiles): Promise<void> {
  if ((await findRunningDaemon(context, files)) !== undefined) return
  const { url, health } = await findDaemon(context, settings)
  if (health === undefined) return
  const message = `copilot-proxy ${visible(health.version)} is running at ${url} in a terminal. Stop it there first (Ctrl-C).`
  throw new CommandFailure(exitCode.failed, message)
}

/** @throws CommandFailure `failed` if another program wrote the file */
async function refuseForeign(manager: ServiceManager): Promise<void> {
  const text = await readText(manager)
  if (text === undefined || text.includes(marker)) return
  const message = `${manager.file} was not written by copilot-proxy. Move it away, then try again.`
  throw new CommandFailure(exitCode.failed, message)
}

/** Undefined if there is no file. */
function readText(manager: ServiceManager): Promise<string | undefined> {
  return tellingErrors(manager, async () => {
    try {
      return await nodeFs.readFile(manager.file, 'utf8')
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    }
  })
}

async function tellingErrors<T>({ file }: ServiceManager, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new CommandFailure(exitCode.failed, `${file} cannot be used: ${errnoOf(cause) || 'unknown error'}.`, {
      cause,
    })
  }
}

export interface CommandResult {
  /** Undefined if the program does not exist, or a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** System access of the service commands; tests replace it. */
export interface ServiceSystem {
  readonly run: (command: CommandLine, env: CommandContext['env']) => Promise<CommandResult>
  readonly uid: () => number
  /** For a service to accept connections. Ms. */
  readonly startLimitMs: number
}

export const realSystem: ServiceSystem = {
  run: ([file, ...args], env) =>
    new Promise((resolve) => {
      const child = execFile(file, args, { env: systemEnvironment(env), timeout: 60_000 }, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? undefined, stdout, stderr }),
      )
    }),
  uid: () => userInfo().uid,
  startLimitMs: 30_000,
}

/** Polling interval. Ms. */
const pollMs = 100

/** @throws CommandFailure `failed` on other systems */
export function findManager(context: CommandContext, system: ServiceSystem): ServiceManager {
  const { env, platform } = context
  const managers = { linux: systemd, darwin: launchd } as const
  if (platform !== 'linux' && platform !== 'darwin') {
    const message = 'Services need systemd (Linux) or launchd (macOS). Run instead: copilot-proxy start'
    throw new CommandFailure(exitCode.failed, message)
  }
  return managers[platform]({ home: homeOf(context), xdgConfigHome: env['XDG_CONFIG_HOME'], uid: system.uid() })
}

/** @throws CommandFailure `failed` with the program's output */
export async function runOrFail(context: CommandContext, system: ServiceSystem, command: CommandLine): Promise<void> {
  const { code, stderr, stdout } = await system.run(command, context.env)
  if (code === 0) return
  const output = (stderr.trim() || stdout.trim() || `exit code ${code ?? 'unknown'}`).slice(0, 1000)
  throw new CommandFailure(exitCode.failed, visibleLines(`${command.join(' ')} failed: ${output}`))
}

/** Waits until a command fails, which means that the service is gone, or until the time is up. */
export async function awaitGone(
  context: CommandContext,
  system: ServiceSystem,
  whileThere: CommandLine,
  withinSeconds: number,
): Promise<void> {
  const untilMs = performance.now() + withinSeconds * 1000
  while (performance.now() < untilMs && (await system.run(whileThere, context.env)).code === 0) {
    await context.sleep(pollMs, context.signal)
  }
}

/** Restarts the service, whose daemon is `before`. */
export async function restartService(
  context: CommandContext,
  files: StateFiles,
  before: DaemonRecord,
  system: ServiceSystem = realSystem,
): Promise<StartedDaemon> {
  const manager = findManager(context, system)
  await runOrFail(context, system, manager.restart)
  const record = await awaitService(context, files, system, manager, before)
  return { record, wasRunning: false }
}

/**
 * Waits until the service accepts connections.
 * @param before the daemon that it replaces
 * @throws CommandFailure `failed` if it does not start
 */
export async function awaitService(
  context: CommandContext,
  files: StateFiles,
  system: ServiceSystem,
  manager: ServiceManager,
  before: DaemonRecord | undefined,
): Promise<DaemonRecord> {
  const untilMs = performance.now() + system.startLimitMs
  for (;;) {
    const record = await findRunningDaemon(context, files)
    if (record !== undefined && record.process_start !== before?.process_start) return record
    if (performance.now() > untilMs) {
      const message = `The service does not accept connections. Run: ${manager.look}`
      throw new CommandFailure(exitCode.failed, message)
    }
    await context.sleep(pollMs, context.signal)
  }
}

/** Variables with paths of this program, none with credentials. */
const passedVariables = [
  'COPILOT_PROXY_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'CODEX_HOME',
] as const

/** For cleanup after the grace period, before the system kills the process. */
const marginSeconds = 15

/**
 * This program with these settings, as a service of this user.
 * @returns `leftOut`: variables in force here that the service will not have
 */
function defineService(context: CommandContext, settings: LoadedSettings) {
  const { env, self, workingDir } = context
  const own = passedVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  const environment = { ...Object.fromEntries(own), ...networkVariables(env, workingDir) }
  const leftOut = Object.keys(env).filter((name) => {
    const isOurs = /^COPILOT_(PROXY_|GITHUB_TOKEN$)/.test(name)
    // That variable is for clients.
    return isOurs && name !== callerKeyVariable && env[name] && !Object.hasOwn(environment, name)
  })
  const definition: ServiceDefinition = {
    command: [
      ...self,
      'serve',
      '--background=service',
      ...(settings.isNamed ? [`--config=${settings.configFile}`] : []),
    ],
    environment,
    stopSeconds: settings.config.server.shutdownGraceSeconds + marginSeconds,
    logFile: findStateFiles(context).logFile,
  }
  return { definition, leftOut: leftOut.toSorted() }
}

/** The variables with the login of a proxy, and an environment that shows none. */
function hideLogins(environment: ServiceDefinition['environment']) {
  const { http, https, all } = proxyVariables
  const hidden = [...http, ...https, ...all].flatMap((name) => {
    const shown = hideLogin(environment[name] ?? '')
    return shown === undefined ? [] : [[name, shown] as const]
  })
  return { names: hidden.map(([name]) => name), shown: { ...environment, ...Object.fromEntries(hidden) } }
}
