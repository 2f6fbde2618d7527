import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { visibleLines } from '../../terminal/visible.ts'
import { findRunningDaemon } from '../background/background-daemon.ts'
import type { DaemonRecord, StateFiles } from '../background/background-daemon.ts'
import { systemEnvironment } from '../background/process-start.ts'
import type { StartedDaemon } from '../background/start-daemon.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { homeOf } from '../shared/settings.ts'
import { launchd } from './launchd.ts'
import type { CommandLine, ServiceManager } from './manager.ts'
import { systemd } from './systemd.ts'

export interface CommandResult {
  /** Undefined where the program does not exist, or a signal ended it. */
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
    const message = 'Services are made for Linux (systemd) and macOS (launchd). Here: copilot-proxy serve --detach'
    throw new CommandFailure(exitCode.failed, message)
  }
  return managers[platform]({ home: homeOf(context), xdgConfigHome: env['XDG_CONFIG_HOME'], uid: system.uid() })
}

/** @throws CommandFailure `failed` with the program's output */
export async function runOrFail(context: CommandContext, system: ServiceSystem, command: CommandLine): Promise<void> {
  const { code, stderr, stdout } = await system.run(command, context.env)
  if (code === 0) return
  const output = (stderr.trim() || stdout.trim() || `it ended with ${code ?? 'no exit code'}`).slice(0, 1000)
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
 * @throws CommandFailure `failed` where it does not start
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
      const message = `The service was started and does not accept connections. To see why: ${manager.look}`
      throw new CommandFailure(exitCode.failed, message)
    }
    await context.sleep(pollMs, context.signal)
  }
}
