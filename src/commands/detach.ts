import { RecordStoreError } from '../auth/record-fs.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { loginAdvice } from './account.ts'
import { daemonDocument } from './background/describe.ts'
import { toConfigFlags } from './config-flags.ts'
import type { CommandContext } from './context.ts'
import { findLogins } from './ensure-login.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { startBackgroundDaemon } from './start-daemon.ts'
import type { StartedDaemon } from './start-daemon.ts'
import { writeJson } from './write-json.ts'

/** `serve --detach`: starts the daemon in the background and says where it is. */
export async function detach(context: CommandContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config, toConfigFlags(flags))
  const started = await startBackgroundDaemon(context, settings, flags)
  await tellStarted(context, settings, started, flags.json)
  return exitCode.done
}

/** For who asked for a daemon in the background, and has one now. */
export async function tellStarted(
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

/** A daemon in the background has no terminal to say that on. */
async function findLoginAdvice(context: CommandContext, settings: LoadedSettings): Promise<string | undefined> {
  try {
    return (await findLogins(context, settings)).length > 0 ? undefined : loginAdvice
  } catch (error) {
    if (error instanceof RecordStoreError || error instanceof CommandFailure) return error.message
    throw error
  }
}
