import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { setInDocument, unsetInDocument, writtenPath } from '../../config/edit-document.ts'
import { findSetting, parseSettingValue } from '../../config/find-setting.ts'
import type { SettingLookup } from '../../config/find-setting.ts'
import { initialConfigText } from '../../config/initial-file.ts'
import { formatConfigError, formatSource } from '../../config/problem.ts'
import { isSecretSetting, maskConfig } from '../../config/secrets.ts'
import { valueAt } from '../../json/value-at.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { checkAliasTargets } from '../shared/alias-targets.ts'
import { changedRestartKeys, changeSettings, needsRestart, refusedChange } from '../shared/change-settings.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from '../shared/command.ts'
import { withFileErrors } from '../shared/edit-file.ts'
import { findDaemon } from '../shared/find-daemon.ts'
import { findFiles, loadSettings, readSettings, showWarnings } from '../shared/settings.ts'
import type { SettingsResult } from '../shared/settings.ts'
import { toVisibleJson } from '../../page/static/visible-text.js'

/** Writes a configuration file with commented settings. @throws CommandFailure `failed` if there is one */
export async function configInit(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const { configFile: path } = findFiles(context, flags.config)
  if (!(await createConfigFile(path))) {
    const message = `${path} already exists. Run: copilot-proxy config edit`
    throw new CommandFailure(exitCode.failed, message)
  }
  if (flags.json) writeJson(context, { path })
  else context.stdout.write(visibleLines(`Created ${path}\n`))
  return exitCode.done
}

/** Returns false if the file exists. */
function createConfigFile(path: string): Promise<boolean> {
  return withFileErrors(
    (advice) => `${path} could not be created: ${advice}.`,
    async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      try {
        await writeFile(path, initialConfigText(), { flag: 'wx', mode: 0o600 })
        return true
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false
        throw error
      }
    },
  )
}

/** The question of `config edit`, answered in the terminal: this process must not read the user's input to an editor. */
const editAgain = `printf 'Edit again? [Y/n] ' >&2; read -r answer || exit 1; case "$answer" in [nN]*) exit 1;; esac`

/** Opens the configuration file in an editor and checks it afterwards. @throws CommandFailure */
export async function configEdit(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const { env, platform, stderr } = context
  const { configFile: path } = findFiles(context, flags.config)
  const isWindows = platform === 'win32'
  const editor = env['VISUAL'] || env['EDITOR'] || (isWindows ? 'notepad' : 'vi')
  const { runClient } = await import('../launch/launch.ts')
  const runShell = (script: string, ...args: readonly string[]): Promise<number> =>
    runClient(context, { file: '/bin/sh', args: ['-c', script, 'sh', ...args], env })
  if (await createConfigFile(path)) stderr.write(visibleLines(`Created ${path}\n`))
  const before = await readSettings(context, flags.config)
  for (;;) {
    // EDITOR may have arguments, as in `code --wait`.
    const code = await (isWindows
      ? runClient(context, { file: editor, args: [path], env })
      : runShell(`${editor} "$@"`, path))
    if (code !== 0) {
      const advice = 'Set EDITOR to your editor, e.g. EDITOR=nano copilot-proxy config edit'
      throw new CommandFailure(
        exitCode.failed,
        `The editor ${JSON.stringify(editor)} ended with exit code ${code}. ${advice}`,
      )
    }
    const after = await readSettings(context, flags.config)
    if (after.ok) {
      context.stdout.write(visibleLines(`${path} is valid.\n`))
      showWarnings(context, after.settings)
      const changed = before.ok ? changedRestartKeys(before.settings.config, after.settings.config) : []
      const isSame = before.ok && isDeepStrictEqual(before.settings.config, after.settings.config)
      if (!isSame) await reportEffect(context, before, changed)
      return exitCode.done
    }
    const problems = formatConfigError(after.error)
    stderr.write(visibleLines(`The configuration is invalid:\n${problems}\n`))
    if (!context.interactive || isWindows || (await runShell(editAgain)) !== 0) return exitCode.usage
  }
}

/** Says whether the running daemon uses the change. @param waiting changed settings that need a restart */
async function reportEffect(
  context: CommandContext,
  before: SettingsResult,
  waiting: readonly string[],
): Promise<{ readonly isRunning: boolean }> {
  const isRunning = before.ok && (await findDaemon(context, before.settings)).health !== undefined
  if (isRunning) {
    context.stderr.write(
      waiting.length === 0
        ? 'The running copilot-proxy uses it now.\n'
        : `To apply ${waiting.join(' and ')}, run: copilot-proxy restart\n`,
    )
  }
  return { isRunning }
}

interface SetFlags extends ReportFlags {
  readonly key: string
  readonly value: string
}

/** Changes one setting in the configuration file. @throws CommandFailure */
export async function configSet(context: CommandContext, flags: SetFlags): Promise<ExitCode> {
  const { key } = flags
  const found = findSetting(key)
  if (found.kind !== 'setting') throw notSettable(key, found)
  const isSecret = isSecretSetting(found.path)
  if (isSecret) context.secrets.note(flags.value)
  const before = await readSettings(context, flags.config)
  const places = findFiles(context, flags.config)
  const { configFile: path } = places
  const value = parseSettingValue(found, flags.value)
  const edit = (text: string): string | undefined => setInDocument(text, found.path, value)
  const sources = await changeSettings(context, {
    path,
    key,
    edit,
    // `config check` refuses a target that no model list has; so does this, for the aliases that it sets.
    async beforeReplace({ value: config, sources: changed, warnings }) {
      if (!key.startsWith('models.aliases')) return
      const settings = { ...places, config, sources: changed, warnings, hasFile: true }
      const { problems } = await checkAliasTargets(context, settings)
      const own = problems.filter((problem) => problem.key === key || problem.key.startsWith(`${key}.`))
      if (own.length > 0) throw refusedChange(path, { problems: own })
    },
  })
  const isLater = needsRestart(key)
  const shownValue = isSecret ? '' : ` to ${JSON.stringify(value)}`
  if (!flags.json) context.stdout.write(visibleLines(`Set ${key}${shownValue} in ${path}\n`))
  const source = sources[key]
  if (source?.kind === 'environment') {
    context.stderr.write(`Note: ${source.name} is set and overrides the file.\n`)
  }
  const { isRunning } = await reportEffect(context, before, isLater ? [key] : [])
  if (flags.json) {
    writeJson(context, {
      key,
      value: isSecret ? null : value,
      path,
      daemon_running: isRunning,
      restart_required: isRunning && isLater,
    })
  }
  return exitCode.done
}

/** Removes one setting from the configuration file, so that its default holds. @throws CommandFailure */
export async function configUnset(context: CommandContext, flags: GetFlags): Promise<ExitCode> {
  const { key } = flags
  const found = findSetting(key)
  if (found.kind === 'section') throw notSettable(key, found)
  const isUnknown = found.kind === 'unknown'
  const before = await readSettings(context, flags.config)
  const { configFile: path } = findFiles(context, flags.config)
  let wasSet = true
  const edit = (text: string): string | undefined => {
    const written = writtenPath(text, isUnknown ? key.split('.') : found.path)
    wasSet = written !== undefined
    if (!wasSet && isUnknown) throw notSettable(key, found)
    return written === undefined ? text : unsetInDocument(text, written)
  }
  // Each of several misspelt keys can be removed.
  const sources = await changeSettings(context, { path, key, edit, isRepair: isUnknown })
  if (!wasSet) throw new CommandFailure(exitCode.failed, `${visible(key)} is not set in ${visible(path)}.`)
  if (!flags.json) context.stdout.write(visibleLines(`Removed ${key} from ${path}\n`))
  if (isUnknown && !(await readSettings(context, flags.config)).ok) {
    context.stderr.write('The configuration is still invalid. Run: copilot-proxy config check\n')
  }
  const source = sources[key]
  if (source?.kind === 'environment') context.stderr.write(`Note: ${source.name} is still set.\n`)
  const isLater = needsRestart(key)
  const { isRunning } = await reportEffect(context, before, isLater ? [key] : [])
  if (flags.json) writeJson(context, { key, path, daemon_running: isRunning, restart_required: isRunning && isLater })
  return exitCode.done
}

interface GetFlags extends ReportFlags {
  readonly key: string
}

/** Prints one setting or a group of settings, secrets masked. @throws CommandFailure */
export async function configGet(context: CommandContext, flags: GetFlags): Promise<ExitCode> {
  const { key } = flags
  const found = findSetting(key)
  if (found.kind === 'unknown' || found.kind === 'retired') throw notSettable(key, found)
  const { config, sources } = await loadSettings(context, flags.config)
  const value = valueAt(maskConfig(config), found.path)
  if (value === undefined) throw new CommandFailure(exitCode.failed, `${visible(key)} is not set.`)
  if (flags.json) {
    const own = Object.entries(sources).filter(([each]) => each === key || each.startsWith(`${key}.`))
    const named = Object.fromEntries(own.map(([each, source]) => [each, formatSource(source)]))
    writeJson(context, { key, value, source: named[key] ?? null, sources: named })
  } else {
    context.stdout.write(`${typeof value === 'string' ? visible(value) : toVisibleJson(JSON.stringify(value))}\n`)
  }
  return exitCode.done
}

function notSettable(key: string, found: Exclude<SettingLookup, { readonly kind: 'setting' }>): CommandFailure {
  const name = visible(JSON.stringify(key))
  if (found.kind === 'section') {
    const message = `${name} is a group of settings. Choose one:\n${found.keys.map((each) => `  ${each}`).join('\n')}`
    return new CommandFailure(exitCode.usage, message)
  }
  if (found.kind === 'retired') return new CommandFailure(exitCode.usage, `${visible(key)}: ${found.detail}`)
  const advice = found.meant === undefined ? 'Run: copilot-proxy config show' : `Did you mean ${found.meant}?`
  return new CommandFailure(exitCode.usage, `Unknown setting ${name}. ${advice}`)
}
