import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import { findLogins } from '../shared/ensure-login.ts'
import type { ServeFlags } from '../shared/flags.ts'
import { toConfigFlags, loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { daemonDocument } from './background-daemon.ts'
import { startBackgroundDaemon } from './start-daemon.ts'
import type { StartedDaemon } from './start-daemon.ts'

/** `serve --detach`: starts the daemon in the background and prints its address. */
export async function detach(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config, toConfigFlags(flags))
  const started = await startBackgroundDaemon(context, settings, flags)
  await reportStarted(context, settings, started, flags.json)
  return exitCode.done
}

export async function reportStarted(
  context: CommandContext,
  settings: LoadedSettings,
  { record, wasRunning }: StartedDaemon,
  json: true | undefined,
): Promise<void> {
  const advice = record.flags.demo ? undefined : await findLoginAdvice(context, settings)
  if (json) {
    writeJson(context, { ...daemonDocument(record), was_running: wasRunning })
  } else {
    const state = wasRunning ? 'is already' : 'is now'
    context.stdout.write(
      visibleLines(`copilot-proxy ${state} listening on ${record.url} in the background, process ${record.pid}\n`),
    )
    if (record.version !== context.version) {
      const versions = `It is version ${visible(record.version)}, and this is ${context.version}.`
      context.stderr.write(`${versions} To change to this one: copilot-proxy restart\n`)
    }
    context.stderr.write('Its log: copilot-proxy logs -f. To end it: copilot-proxy stop\n')
  }
  if (advice !== undefined) context.stderr.write(visibleLines(`${advice}\n`))
}

/** A daemon in the background has no terminal for this advice. */
async function findLoginAdvice(context: CommandContext, settings: LoadedSettings): Promise<string | undefined> {
  try {
    return (await findLogins(context, settings)).length > 0 ? undefined : loginAdvice
  } catch (error) {
    if (error instanceof RecordStoreError || error instanceof CommandFailure) return error.message
    throw error
  }
}
