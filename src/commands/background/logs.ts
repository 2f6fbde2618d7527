import { open } from 'node:fs/promises'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { formatLogLine, parseLogLine } from '../../logging/pretty-log.ts'
import { redactText } from '../../redaction/redact.ts'
import type { Output } from '../../terminal/output.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, LogsFlags } from '../shared/command.ts'
import { findStateFiles, reportFileErrors } from './background-daemon.ts'
import { logLimits } from './enter-background.ts'

/** Polling interval. Ms. */
const pollMs = 200

/**
 * Prints the end of the background daemon's log, and with `--follow` what is appended. On a terminal formatted for
 * reading, elsewhere as one JSON object per line.
 */
export async function logs(context: CommandContext, flags: LogsFlags): Promise<ExitCode> {
  const count = parseCount(flags.lines)
  const files = findStateFiles(context)
  const { stdout } = context
  const write = (lines: readonly string[]): void => {
    if (lines.length > 0) stdout.write(lines.map((line) => toText(line, stdout, flags.json)).join(''))
  }
  return reportFileErrors(files, async () => {
    const last = await readLastLines(files.logFile, count)
    if (last === undefined) {
      const message = `There is no log at ${files.logFile}: no copilot-proxy has run in the background yet.`
      if (!flags.follow) throw new CommandFailure(exitCode.failed, message)
      context.stderr.write(visibleLines(`${message} Waiting for one.\n`))
    }
    write(last?.lines ?? [])
    if (!flags.follow) return exitCode.done
    const from = last ?? { offset: 0 }
    for await (const lines of followLines(files.logFile, from, () => context.sleep(pollMs, context.signal))) {
      write(lines)
      if (stdout.isClosed?.()) break
    }
    return exitCode.done
  })
}

/** @throws CommandFailure `usage` */
function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(exitCode.usage, `--lines takes a whole number, and ${JSON.stringify(text)} is none.`)
}

function toText(line: string, { isTerminal, hasColors }: Output, json: true | undefined): string {
  const safe = redactText(line)
  if (!isTerminal || json) return `${toJsonLine(safe)}\n`
  const text = formatLogLine(safe, { colors: hasColors })
  // Text that is not a log entry, such as a crash report, is returned unchanged.
  return text === safe ? `${visible(safe)}\n` : text
}

/** Messages of a daemon that could not start are plain text in the log; readers of JSON get them as objects. */
function toJsonLine(line: string): string {
  return parseLogLine(line) ? line : JSON.stringify({ level: 'info', msg: line })
}

/** A position in the log. */
interface LogPosition {
  /** Offset in bytes. */
  readonly offset: number
}

export interface LastLines extends LogPosition {
  /** Without line ends. */
  readonly lines: readonly string[]
}

/** The last `count` lines, from rotated files too. Undefined where there is no log. */
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

/** The bytes from there to the end; undefined where the file is missing or shorter. */
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
