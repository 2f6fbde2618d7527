import { pino } from 'pino'
import type { Logger as PinoLogger } from 'pino'
import type { LogSink, LogSinkOptions } from './log-sink.ts'
import { createLogSink } from './log-sink.ts'
import type { LogMethod, Logger } from './logger.ts'
import { formatLogLines } from './pretty-log.ts'
import { snakeName } from '../json/key-case.ts'
import { redactFields, redactText } from '../redaction/redact.ts'

export type LogTarget = Pick<LogSinkOptions, 'fd' | 'onWritten'>

export interface LogOptions {
  /** A pino level name, or `silent`. */
  readonly level: string
  /** `json`: one JSON object a line. `pretty`: for people. */
  readonly format: 'json' | 'pretty'
  /** Escape codes in `pretty`. */
  readonly colors: boolean
  /** Removes known credentials. */
  readonly redact?: ((text: string) => string) | undefined
  /** Default: standard error. */
  readonly target?: LogTarget | undefined
  /** For tests. */
  readonly createSink?: (finish: (lines: string) => string) => LogSink
}

export interface ProgramLog extends Logger {
  readonly setLevel: (level: string) => void
  /** Resolves when every line is written, or after `withinMs`. Call it before the process exits. */
  readonly flush: (withinMs: number) => Promise<void>
}

const stderrFd = 2
/** Characters; an hour of ordinary lines. */
const maxQueued = 4_000_000

/**
 * The program's log, on stderr. Redacts three times: by field name, and in the finished lines by known value and by shape,
 * because an upstream may reflect a credential in any text. Keeps stacks at the levels debug and trace, and of defects.
 */
export function createLog(options: LogOptions): ProgramLog {
  const { format, colors, redact = (text) => text } = options
  // Known values first: a shape can end in the middle of a value, whose remainder would stay.
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
        log: (fields) =>
          redactFields(fields, {
            keepStacks: logger.isLevelEnabled('debug') || isDefect(fields),
            nameOf: snakeName,
          }),
      },
      // `redactFields` has converted errors already; pino's own serializer would restore their fields.
      serializers: { err: (error: unknown) => error },
    },
    { write: (line: string) => sink.write(line) },
  )
  // pino replaces its methods when the level changes, so look them up for each call.
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

/** A line about a defect of this program, whose report needs the stack. */
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
