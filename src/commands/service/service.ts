import * as nodeFs from 'node:fs/promises'
import { dirname } from 'node:path'
import { removeIfThere, replaceFile } from '../../auth/records/atomic-file.ts'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { formatPairs } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import {
  daemonDocument,
  findStateFiles,
  findRunningDaemon,
  openStateFiles,
  withBackgroundLock,
} from '../background/background-daemon.ts'
import type { StateFiles } from '../background/background-daemon.ts'
import { stopDaemon } from '../background/stop.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import { findDaemon } from '../shared/find-daemon.ts'
import type { ReportFlags, ServiceFlags } from '../shared/flags.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { awaitGone, awaitService, findManager, realSystem, runOrFail } from './control.ts'
import type { ServiceSystem } from './control.ts'
import { defineService, marker } from './define.ts'
import type { ServiceManager } from './manager.ts'

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
  const text = manager.text(definition)
  if (flags.dryRun) {
    context.stderr.write(`${visible(manager.file)} would be:\n`)
    context.stdout.write(text)
    return exitCode.done
  }
  await refuseForeign(manager)
  const { shutdownGraceSeconds } = settings.config.server
  const files = await openStateFiles(context)
  await refuseOther(context, settings, files)
  await tellingErrors(manager, async () => {
    await nodeFs.mkdir(dirname(manager.file), { recursive: true })
    await replaceFile(nodeFs, manager.file, text)
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
    const daemon = record === undefined ? null : daemonDocument(record)
    writeJson(context, { file: manager.file, active: isUsable, daemon, left_out: leftOut })
    return exitCode.done
  }
  context.stdout.write(
    record === undefined
      ? `${visible(manager.file)} is written. ${manager.name} cannot be used from here; run where it can:\n` +
          manager.activateByHand.map((line) => `  ${line}\n`).join('')
      : `copilot-proxy is a service now, listening on ${visible(record.url)}, process ${record.pid}\n`,
  )
  for (const note of installNotes(context, manager, leftOut)) context.stderr.write(`${note}\n`)
  return exitCode.done
}

function installNotes(
  { self }: CommandContext,
  { note }: ServiceManager,
  leftOut: readonly string[],
): readonly string[] {
  const isTemporary = self.some((part) => /[/\\]_npx[/\\]/.test(part))
  return [
    ...(leftOut.length === 0
      ? []
      : [`The service does not have ${leftOut.join(', ')} of this terminal: use login and the configuration file.`]),
    ...(isTemporary ? ['This copilot-proxy is in the cache of npx, which npm may empty. Install it first.'] : []),
    ...(note === undefined ? [] : [note]),
  ]
}

/** Stops the service and removes its file; succeeds where neither exists. */
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
      isInstalled ? `The service is gone, and so is ${visible(manager.file)}\n` : 'There is no service to remove.\n',
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
    context.stdout.write('copilot-proxy is not a service. To make it one: copilot-proxy service install\n')
    return exitCode.done
  }
  const pairs = [
    ['Service', visible(state?.detail ?? `not known; ${manager.name} cannot be used from here, or has not loaded it`)],
    ['Address', daemon === undefined ? '' : visible(daemon.url)],
    ['File', visible(manager.file)],
    ['', isCurrent ? '' : 'made for other paths or settings; renew it with: copilot-proxy service install'],
  ] as const
  context.stdout.write(formatPairs(pairs, context.stdout.style))
  return exitCode.done
}

/** @throws CommandFailure `failed` where a daemon in a terminal uses the service's address */
async function refuseOther(context: CommandContext, settings: LoadedSettings, files: StateFiles): Promise<void> {
  if ((await findRunningDaemon(context, files)) !== undefined) return
  const { url, health } = await findDaemon(context, settings)
  if (health === undefined) return
  const message = `copilot-proxy ${visible(health.version)} runs at ${url}, in a terminal. End it there first.`
  throw new CommandFailure(exitCode.failed, message)
}

/** @throws CommandFailure `failed` where another program wrote the file */
async function refuseForeign(manager: ServiceManager): Promise<void> {
  const text = await readText(manager)
  if (text === undefined || text.includes(marker)) return
  const message = `${manager.file} was not written by copilot-proxy. Move it away, and try again.`
  throw new CommandFailure(exitCode.failed, message)
}

/** Undefined where there is no file. */
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
