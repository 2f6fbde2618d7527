import { pino } from 'pino'
import type { Logger as PinoLogger } from 'pino'
import type { LogSink, LogSinkOptions } from './log-sink.ts'
import { createLogSink } from './log-sink.ts'
import type { LogMethod, Logger } from './log.ts'
import { formatLogLines } from './pretty-log.ts'
import { redactFields, redactText } from './redact.ts'

export type LogTarget = Pick<LogSinkOptions, 'fd' | 'onWritten'>

export interface LogOptions {
  /** A pino level name, or `silent`. */
  readonly level: string
  /** `json`: one JSON object a line, for machines. `pretty`: for people. */
  readonly format: 'json' | 'pretty'
  /** Escape codes in `pretty`; only sensible on a terminal. */
  readonly colors: boolean
  /** Takes known credentials out of text, whatever they look like. */
  readonly redact?: ((text: string) => string) | undefined
  /** Where lines go; standard error where absent. */
  readonly target?: LogTarget | undefined
  /** Makes the sink that lines go to, given how they are finished; tests hand in their own. */
  readonly createSink?: (finish: (lines: string) => string) => LogSink
}

export interface ProgramLog extends Logger {
  readonly setLevel: (level: string) => void
  /** Resolves when every line is written, or after `withinMs`. Called before the process exits. */
  readonly flush: (withinMs: number) => Promise<void>
}

const stderrFd = 2
/** Characters, about 4 MB: an hour of ordinary lines, and no danger to memory. */
const maxQueued = 4_000_000

/**
 * The program's log, on stderr, so that stdout stays for results. Secrets are removed three times: by field name before
 * a line is made, by value and by shape from the finished lines, because an upstream may reflect a credential in any text. Stacks are
 * kept at the levels debug and trace, and of defects.
 */
export function createLog(options: LogOptions): ProgramLog {
  const { format, colors, redact = (text) => text } = options
  // Known values first: a shape can end in the middle of one, and what is left of it would not be found any more.
  const finish = (jsonLines: string): string =>
    redactText(redact(format === 'json' ? jsonLines : formatLogLines(jsonLines, { colors })))
  const target = options.target ?? { fd: stderrFd }
  const sink = options.createSink?.(finish) ?? createFileSink(target, finish)
  const logger: PinoLogger = pino(
    {
      level: options.level,
      base: null,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactFields(fields, { keepStacks: logger.isLevelEnabled('debug') || isDefect(fields) }),
      },
      // Errors are already plain objects by then; pino's own serializer would bring back what was left out.
      serializers: { err: (error: unknown) => error },
    },
    { write: (line: string) => sink.write(line) },
  )
  // pino puts other functions on the logger when its level changes, so each call looks its method up anew.
  const method =
    (level: 'debug' | 'info' | 'warn' | 'error'): LogMethod =>
    (first: string | Readonly<Record<string, unknown>>, message?: string) =>
      typeof first === 'string' ? logger[level](first) : logger[level](first, message)
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    setLevel: (level) => {
      logger.level = level
    },
    flush: (withinMs) => sink.flush(withinMs),
  }
}

/** A line about a defect of this program, as the places that answer requests write it. Its stack is the report. */
function isDefect({ error }: Readonly<Record<string, unknown>>): boolean {
  return typeof error === 'object' && error !== null && 'kind' in error && error.kind === 'internal'
}

function createFileSink(target: LogTarget, finish: (lines: string) => string): LogSink {
  return createLogSink({
    ...target,
    maxQueued,
    finish,
    describeDropped: (count) =>
      `${JSON.stringify({ level: 'warn', time: Date.now(), msg: `${count} log lines dropped: the reader is too slow` })}\n`,
  })
}
