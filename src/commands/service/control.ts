import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { visibleLines } from '../../terminal/visible.ts'
import type { DaemonRecord } from '../background/daemon-record.ts'
import { findRunningDaemon } from '../background/place.ts'
import type { BackgroundPlace } from '../background/place.ts'
import type { CommandContext } from '../context.ts'
import { CommandFailure, exitCode } from '../exit-code.ts'
import { homeOf } from '../settings.ts'
import type { StartedDaemon } from '../start-daemon.ts'
import { systemEnvironment } from '../system-environment.ts'
import { launchd, systemd } from './manager.ts'
import type { CommandLine, ServiceManager } from './manager.ts'

export interface CommandResult {
  /** Undefined where the program is not there, or was ended by a signal. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** The system as the service commands use it; tests hand in their own. */
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

/** Between two looks at whether it has started. Ms. */
const pollMs = 100

/** @throws CommandFailure `failed` on a system that this program writes no service for */
export function findManager(context: CommandContext, system: ServiceSystem): ServiceManager {
  const { env, platform } = context
  const managers = { linux: systemd, darwin: launchd } as const
  if (platform !== 'linux' && platform !== 'darwin') {
    const message = 'Services are made for Linux (systemd) and macOS (launchd). Here: copilot-proxy serve --detach'
    throw new CommandFailure(exitCode.failed, message)
  }
  return managers[platform]({ home: homeOf(context), xdgConfigHome: env['XDG_CONFIG_HOME'], uid: system.uid() })
}

/** @throws CommandFailure `failed` with what the program said */
export async function runOrFail(context: CommandContext, system: ServiceSystem, command: CommandLine): Promise<void> {
  const { code, stderr, stdout } = await system.run(command, context.env)
  if (code === 0) return
  const said = (stderr.trim() || stdout.trim() || `it ended with ${code ?? 'no exit code'}`).slice(0, 1000)
  throw new CommandFailure(exitCode.failed, visibleLines(`${command.join(' ')} failed: ${said}`))
}

/** Until a command fails, which tells that something is gone; at the longest for as long as that may take. */
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

/** Has the system restart the service, which is the one that runs as `before`. */
export async function restartService(
  context: CommandContext,
  place: BackgroundPlace,
  before: DaemonRecord,
  system: ServiceSystem = realSystem,
): Promise<StartedDaemon> {
  const manager = findManager(context, system)
  await runOrFail(context, system, manager.restart)
  const record = await awaitService(context, place, system, manager, before)
  return { record, wasRunning: false }
}

/**
 * Until the service accepts connections.
 * @param before a daemon that it takes the place of
 * @throws CommandFailure `failed` where it does not
 */
export async function awaitService(
  context: CommandContext,
  place: BackgroundPlace,
  system: ServiceSystem,
  manager: ServiceManager,
  before: DaemonRecord | undefined,
): Promise<DaemonRecord> {
  const untilMs = performance.now() + system.startLimitMs
  for (;;) {
    const record = await findRunningDaemon(context, place)
    if (record !== undefined && record.process_start !== before?.process_start) return record
    if (performance.now() > untilMs) {
      const message = `The service was started and does not accept connections. To see why: ${manager.look}`
      throw new CommandFailure(exitCode.failed, message)
    }
    await context.sleep(pollMs, context.signal)
  }
}
