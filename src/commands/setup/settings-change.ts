import { setUpText, undoText } from '../../client-settings/client-entries.ts'
import type { EntryFormat } from '../../client-settings/client-entries.ts'
import { callerKeyVariable } from '../../config/environment.ts'
import { redactText } from '../../redaction/redact.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, SetupFlags } from '../shared/command.ts'
import { confirm } from '../shared/confirm.ts'
import { changeClientFile, keepBackup, removeBackup, unifiedDiff } from './client-file.ts'
import type { ClientFile } from './client-file.ts'

interface SettingsChange<Wanted> {
  readonly file: ClientFile
  readonly format: EntryFormat<Wanted>
  readonly wanted: Wanted
  /** The daemon's URL. */
  readonly url: string
  /** The command without further options. */
  readonly command: string
  /** @param next the file after the change */
  readonly notes: (next: string) => readonly string[] | Promise<readonly string[]>
  /** Sentences: what the client has already, the question before the change, and the success. */
  readonly already: string
  readonly question: string
  readonly done: string
  /** Runs before the settings that rely on it are in force. */
  readonly prepare?: () => Promise<void>
}

type ChangeOutcome =
  | { readonly kind: 'written'; readonly text: string }
  /** Nothing was written: nothing had to be, or the person only looks, or does not agree. */
  | { readonly kind: 'ended'; readonly code: ExitCode }

/**
 * Writes the entries of setup to a client's file, after showing the difference and asking.
 * @throws CommandFailure
 */
export async function changeClientSettings<Wanted>(
  context: CommandContext,
  flags: SetupFlags,
  { file, format, wanted, url, command, notes, already, question, done, prepare }: SettingsChange<Wanted>,
): Promise<ChangeOutcome> {
  const { stderr } = context
  const { path, text = '', backup } = file
  const present = format.read(text)
  const isSetUp = present !== undefined && format.areOurs(present, url)
  // Without a backup, the file was created by setup or set up by hand.
  const isOwnFile = isSetUp && format.write('', present) === text
  const before = isSetUp ? (backup ?? (isOwnFile ? '' : text)) : text
  const next = setUpText(format, text, before, wanted)
  if (next === undefined) {
    const how = `Add the settings yourself: ${command} --print`
    throw byHand(path, [format.limit, how].join(' ').trimStart())
  }
  const found = await notes(next)
  if (next === text) {
    await prepare?.()
    stderr.write(visibleLines(`${already} Nothing to do.\n`))
    writeNotes(context, found)
    return { kind: 'ended', code: exitCode.done }
  }
  printDiff(context, unifiedDiff(path, text, next))
  writeNotes(context, found)
  if (flags.dryRun) return { kind: 'ended', code: exitCode.done }
  if (!(await agreed(context, flags, question))) return { kind: 'ended', code: refused(context) }
  if (before === text) await keepBackup(file)
  await prepare?.()
  await changeClientFile(file, next)
  const kept = file.text === undefined ? '' : `Backup: ${file.backupPath}\n`
  stderr.write(visibleLines(`${done}\n${kept}To undo: ${command} --undo\n`))
  return { kind: 'written', text: next }
}

interface Undo {
  readonly file: ClientFile
  readonly format: Omit<EntryFormat<never>, 'wanted'>
  /** The daemon's URL. */
  readonly url: string
  /** Sentences for a client without settings to undo, and for the success. */
  readonly nothing: string
  readonly done: string
}

/** Restores the backup, or removes the entries of setup if the file was edited since. */
export async function undoSettings(
  context: CommandContext,
  flags: SetupFlags,
  { file, format, url, nothing, done }: Undo,
): Promise<ExitCode> {
  requirePerson(context, flags)
  const text = file.text ?? ''
  const present = format.read(text)
  const isSetUp = present !== undefined && format.areOurs(present, url)
  if (file.text === undefined || (present !== undefined && !isSetUp && file.backup === undefined)) {
    context.stderr.write(visibleLines(`${nothing} Nothing to undo.\n`))
    return exitCode.done
  }
  const undone = undoText(format, text, file.backup ?? '')
  if (undone.kind === 'by-hand') {
    const how = file.backup === undefined ? '' : `Backup of the original: ${file.backupPath}`
    throw byHand(file.path, [format.limit, how].join(' ').trim())
  }
  printDiff(context, unifiedDiff(file.path, text, undone.text))
  if (undone.kind === 'entries') {
    context.stderr.write('The file was edited after setup, so only the settings that setup added are removed.\n')
  }
  if (flags.dryRun) return exitCode.done
  // Setup created the file, so undo removes it.
  const isOurs = undone.kind === 'exact' && file.backup === undefined
  if (!(await agreed(context, flags, `${isOurs ? 'Remove' : 'Change'} ${file.path}?`))) return refused(context)
  await changeClientFile(file, isOurs ? undefined : undone.text)
  await removeBackup(file)
  context.stderr.write(visibleLines(`${done}\n`))
  return exitCode.done
}

/** @throws CommandFailure `usage` without a terminal to ask in */
export function requirePerson({ interactive }: CommandContext, { yes, dryRun }: SetupFlags): void {
  if (interactive || yes || dryRun) return
  const message = 'No terminal to ask in. Add --yes to skip the question, or --dry-run to see the changes.'
  throw new CommandFailure(exitCode.usage, message)
}

export async function agreed(context: CommandContext, { yes }: SetupFlags, question: string): Promise<boolean> {
  return yes === true || confirm(context, question)
}

function refused({ stderr }: CommandContext): ExitCode {
  stderr.write('Nothing changed.\n')
  return exitCode.failed
}

function printDiff({ stdout }: CommandContext, diff: string): void {
  const paint: Readonly<Record<string, (text: string) => string>> = { '+': stdout.style.green, '-': stdout.style.red }
  const lines = visibleLines(withoutKeys(diff)).split('\n')
  stdout.write(lines.map((line) => (paint[line[0] ?? ''] ?? stdout.style.plain)(line)).join('\n'))
}

/** The user's own lines may hold keys of other services. */
function withoutKeys(diff: string): string {
  const named = /((?:token|key|secret|password)["']?\s*[:=]\s*["'])(?!\{env:)([^"']+)/gi
  return diff
    .split('\n')
    .map((line) => (ours.test(line) ? line : redactText(line)).replaceAll(named, masked))
    .join('\n')
}

function masked(whole: string, name: string, value: string): string {
  return noKeys.has(value) ? whole : `${name}[redacted]`
}

/** Placeholders that setup writes instead of a key. */
const noKeys: ReadonlySet<string> = new Set(['copilot-proxy', callerKeyVariable])
const ours = new RegExp(`"(?:${[...noKeys].join('|')}|\\{env:${callerKeyVariable}\\})"`)

export function writeNotes({ stderr }: CommandContext, notes: readonly string[]): void {
  for (const note of notes) stderr.write(visibleLines(`Note: ${note}\n`))
}

function byHand(path: string, how: string): CommandFailure {
  const message = `setup cannot edit ${path}. Nothing changed. ${how}`
  return new CommandFailure(exitCode.failed, message.trimEnd())
}
