import { loadConfig } from '../../config/load.ts'
import type { LoadResult, Sources } from '../../config/load.ts'
import { formatConfigError } from '../../config/problem.ts'
import type { ConfigError } from '../../config/problem.ts'
import type { Config, SettingKey } from '../../config/schema.ts'
import { camelKey } from '../../config/settings-tree.ts'
import { valueAt } from '../../json/value-at.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { changeConfigFile } from './edit-file.ts'

/** Settings that a running daemon takes over when it is restarted; it takes over all others at once. */
const restartKeys = [
  'server.host',
  'server.port',
  'log.format',
  'auth.store',
  'auth.strict-permissions',
] as const satisfies readonly SettingKey[]

export function needsRestart(key: string): boolean {
  return restartKeys.some((each) => each === key)
}

/** The settings that need a restart and differ. */
export function changedRestartKeys(before: Config, after: Config): readonly SettingKey[] {
  return restartKeys.filter((key) => {
    const path = key.split('.').map(camelKey)
    return valueAt(before, path) !== valueAt(after, path)
  })
}

type ChangedSettings = Extract<LoadResult, { readonly ok: true }>

interface Change {
  readonly path: string
  /** The setting that `edit` changes. */
  readonly key: string
  /** Returns undefined if only a person can edit the file. */
  readonly edit: (text: string) => string | undefined
  /** The changed file may be invalid, because the edit repairs one of several faults. */
  readonly isRepair?: boolean
  /** Runs before the file changes; the file stays as it is if this throws. */
  readonly beforeReplace?: ((changed: ChangedSettings) => Promise<void>) | undefined
}

/**
 * Writes the edited configuration file, if the configuration remains valid.
 * @returns the sources of the values in force then; none if a repair leaves the configuration invalid
 * @throws CommandFailure
 */
export async function changeSettings(context: CommandContext, change: Change): Promise<Sources> {
  const { path, key, edit, isRepair = false, beforeReplace } = change
  let result: ChangedSettings | undefined
  const check = async (): Promise<void> => {
    if (result !== undefined) await beforeReplace?.(result)
  }
  await changeConfigFile({ path, signal: context.signal, now: context.now, beforeReplace: check }, (text) => {
    const changed = edit(text)
    const loaded = loadChanged({ path, text: changed ?? text }, key, context.env)
    if (!loaded.ok && !isRepair) throw refusedChange(path, loaded.error)
    if (changed === undefined) {
      const advice = `copilot-proxy cannot edit the YAML of ${key}. Run: copilot-proxy config edit`
      throw new CommandFailure(exitCode.failed, `${path} was not changed: ${advice}`)
    }
    if (loaded.ok) result = loaded
    return changed
  })
  return result?.sources ?? {}
}

/** Why the file stays as it is. */
export function refusedChange(path: string, error: ConfigError): CommandFailure {
  const message = `${path} was not changed, because the configuration would be invalid:\n${formatConfigError(error)}`
  return new CommandFailure(exitCode.usage, message)
}

/** Also fails if an environment variable hides that the value in the file is invalid. */
function loadChanged(
  file: { readonly path: string; readonly text: string },
  key: string,
  env: CommandContext['env'],
): ReturnType<typeof loadConfig> {
  const loaded = loadConfig({ file, env, flags: [] })
  const source = loaded.ok ? loaded.sources[key] : undefined
  if (source?.kind !== 'environment') return loaded
  const fileAlone = loadConfig({ file, env: { ...env, [source.name]: undefined }, flags: [] })
  return fileAlone.ok ? loaded : fileAlone
}
