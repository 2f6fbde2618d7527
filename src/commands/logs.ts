import { formatLogLine, parseLogLine } from '../pretty-log.ts'
import { redactText } from '../redact.ts'
import type { Output } from '../terminal/output.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { findBackgroundPlace, tellingFileErrors } from './background/place.ts'
import { followLines, readLastLines } from './background/read-log.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LogsFlags } from './flags.ts'

/** Between two looks at whether there is more. Ms. */
const pollMs = 200

/**
 * Prints the end of the background daemon's log, with `--follow` also what comes. On a terminal as people like to read
 * it, otherwise as one JSON object a line.
 */
export async function logs(context: CommandContext, flags: LogsFlags): Promise<ExitCode> {
  const count = parseCount(flags.lines)
  const place = findBackgroundPlace(context)
  const { stdout } = context
  const write = (lines: readonly string[]): void => {
    if (lines.length > 0) stdout.write(lines.map((line) => toText(line, stdout, flags.json)).join(''))
  }
  return tellingFileErrors(place, async () => {
    const last = await readLastLines(place.logFile, count)
    if (last === undefined) {
      const message = `There is no log at ${place.logFile}: no copilot-proxy has run in the background yet.`
      if (!flags.follow) throw new CommandFailure(exitCode.failed, message)
      context.stderr.write(visibleLines(`${message} Waiting for one.\n`))
    }
    write(last?.lines ?? [])
    if (!flags.follow) return exitCode.done
    const from = last ?? { offset: 0 }
    for await (const lines of followLines(place.logFile, from, () => context.sleep(pollMs, context.signal))) {
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
  // What is no line of the log, as a defect's report, comes back as it was.
  return text === safe ? `${visible(safe)}\n` : text
}

/**
 * What a daemon that could not start said to people stands in its log as plain text. Whoever reads the log as JSON gets
 * an object for that, too.
 */
function toJsonLine(line: string): string {
  return parseLogLine(line) ? line : JSON.stringify({ level: 'info', msg: line })
}
