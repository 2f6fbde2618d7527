import { open } from 'node:fs/promises'
import { logLevels } from '../../config/schema.ts'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { formatLogLine, parseLogLine } from '../../logging/pretty-log.ts'
import { redactText } from '../../redaction/redact.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, LogsFlags } from '../shared/command.ts'
import { findStateFiles, reportFileErrors } from './background-daemon.ts'
import { logLimits } from './enter-background.ts'
import { toVisibleJson } from '../../page/static/visible-text.js'

/** Polling interval. Ms. */
const pollMs = 200

/** Without `--since`. */
const defaultLines = 100

/**
 * Prints the end of the background daemon's log, and with `--follow` what is appended. On a terminal formatted for
 * reading, with a line for each new day; elsewhere as one JSON object per line.
 */
export async function logs(context: CommandContext, flags: LogsFlags): Promise<ExitCode> {
  const sinceMs = flags.since === undefined ? undefined : parseSince(flags.since, context.now())
  const count = flags.lines === undefined ? (sinceMs === undefined ? defaultLines : Infinity) : parseCount(flags.lines)
  const isWanted = createFilter(sinceMs, flags.level)
  const isFiltered = sinceMs !== undefined || flags.level !== undefined
  const files = findStateFiles(context)
  const { stdout } = context
  let day = dayOf(context.now())
  const toText = (line: string): string => {
    const safe = redactText(line)
    if (!stdout.isTerminal || flags.json) return `${toVisibleJson(toJsonLine(safe))}\n`
    const text = formatLogLine(safe, { colors: stdout.hasColors })
    // Text that is not a log entry, such as a crash report, is returned unchanged.
    if (text === safe) return `${visible(safe)}\n`
    const time = parseLogLine(safe)?.['time']
    const newDay = typeof time === 'number' ? dayOf(time) : day
    if (newDay === day) return text
    day = newDay
    return `${stdout.style.dim(day)}\n${text}`
  }
  const write = (lines: readonly string[]): void => {
    if (lines.length > 0) stdout.write(lines.map(toText).join(''))
  }
  return reportFileErrors(files, async () => {
    const last = await readLastLines(files.logFile, isFiltered ? Infinity : count)
    if (last === undefined) {
      const message = `No log at ${files.logFile}: copilot-proxy has not run in the background yet.`
      if (!flags.follow) throw new CommandFailure(exitCode.failed, `${message} Run: copilot-proxy start`)
      context.stderr.write(visibleLines(`${message} Waiting for it to start.\n`))
    }
    const shown = last?.lines.filter(isWanted) ?? []
    write(count === 0 ? [] : shown.slice(-count))
    if (!flags.follow) return exitCode.done
    const from = last ?? { offset: 0 }
    for await (const lines of followLines(files.logFile, from, () => context.sleep(pollMs, context.signal))) {
      write(lines.filter(isWanted))
      if (stdout.isClosed?.()) break
    }
    return exitCode.done
  })
}

/** @throws CommandFailure `usage` */
function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(exitCode.usage, `--lines must be a whole number, got ${visible(JSON.stringify(text))}.`)
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * The start of a period: `10m` ago, or a local time such as `14:30`, `2026-11-24` or `2026-11-24T10:00`. Ms since epoch.
 * @throws CommandFailure `usage`
 */
export function parseSince(text: string, nowMs: number): number {
  const [, amount, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  if (amount !== undefined) return nowMs - Number(amount) * (unitMs[unit] ?? 0)
  const clock = /^\d{1,2}:\d\d(?::\d\d)?$/.test(text) ? text.padStart(text.length + (text.indexOf(':') % 2), '0') : ''
  // JavaScript reads a date without a time as UTC.
  const full = clock !== '' ? `${dayOf(nowMs)}T${clock}` : /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text
  const ms = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(full) ? Date.parse(full.replace(' ', 'T')) : NaN
  if (!Number.isNaN(ms)) return ms
  const examples = '10m, 2h, 14:30, 2026-11-24 or 2026-11-24T10:00'
  throw new CommandFailure(
    exitCode.usage,
    `--since must be a time such as ${examples}, got ${visible(JSON.stringify(text))}.`,
  )
}

/** In local time, as `2026-11-24`. */
function dayOf(timeMs: number): string {
  return new Date(timeMs).toLocaleDateString('sv')
}

/** By severity. */
const levels: readonly string[] = [...logLevels.filter((level) => level !== 'silent'), 'fatal']

/** Text without a time belongs to the entry before it; text without a level may be a crash report, and is always wanted. */
function createFilter(sinceMs: number | undefined, leastLevel: string | undefined): (line: string) => boolean {
  const least = levels.indexOf(leastLevel ?? '')
  let isRecent = sinceMs === undefined
  return (line) => {
    if (sinceMs === undefined && least < 0) return true
    const { time, level } = parseLogLine(line) ?? {}
    if (sinceMs !== undefined && typeof time === 'number') isRecent = time >= sinceMs
    return isRecent && (typeof level !== 'string' || levels.indexOf(level) >= least)
  }
}

/** Messages of a daemon that could not start are plain text in the log; readers of JSON get them as objects. */
function toJsonLine(line: string): string {
  return parseLogLine(line) ? line : JSON.stringify({ level: 'info', msg: line })
}

interface LogPosition {
  /** Offset in bytes. */
  readonly offset: number
}

export interface LastLines extends LogPosition {
  /** Without line ends. */
  readonly lines: readonly string[]
}

/** The last `count` lines, from rotated files too. Undefined if there is no log. */
export async function readLastLines(path: string, count: number): Promise<LastLines | undefined> {
  const newest = await readFrom(path, 0)
  if (newest === undefined) return undefined
  let lines = linesIn(newest)
  for (let at = 1; at <= logLimits.kept && lines.length < count; at += 1) {
    const older = await readFrom(`${path}.${at}`, 0)
    if (older === undefined) break
    lines = linesIn(older).concat(lines)
  }
  return { lines: count === 0 ? [] : lines.slice(-count), offset: newest.length }
}

function linesIn(bytes: Buffer): readonly string[] {
  const lines = bytes.toString().split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * The lines appended after `position`; never ends by itself. Lines written before a rotation are not lost.
 * @param pause between two reads; an error of it ends the iteration
 */
export async function* followLines(
  path: string,
  { offset }: LogPosition,
  pause: () => Promise<void>,
): AsyncGenerator<readonly string[]> {
  let remainder: Buffer = Buffer.alloc(0)
  for (;;) {
    const { bytes, end } = await readOn(path, offset)
    offset = end
    remainder = Buffer.concat([remainder, bytes])
    const lineEnd = remainder.lastIndexOf('\n')
    if (lineEnd >= 0) {
      yield linesIn(remainder.subarray(0, lineEnd + 1))
      remainder = remainder.subarray(lineEnd + 1)
    }
    await pause()
  }
}

async function readOn(path: string, offset: number): Promise<{ readonly bytes: Buffer; readonly end: number }> {
  const bytes = await readFrom(path, offset)
  if (bytes !== undefined) return { bytes, end: offset + bytes.length }
  // The log was rotated; the unread lines are at the end of the copy.
  const missed = offset === 0 ? undefined : await readFrom(`${path}.1`, offset)
  const begun = (await readFrom(path, 0)) ?? Buffer.alloc(0)
  return { bytes: Buffer.concat([missed ?? Buffer.alloc(0), begun]), end: begun.length }
}

/** The bytes from there to the end; undefined if the file is missing or shorter. */
async function readFrom(path: string, offset: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size < offset) return undefined
      const bytes = Buffer.alloc(size - offset)
      let filled = 0
      while (filled < bytes.length) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
