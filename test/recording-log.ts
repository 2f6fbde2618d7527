import type { LogMethod, Logger } from '../src/logging/logger.ts'

export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A logger that keeps its lines. Unlike the program's own, it redacts nothing, so that tests detect every leak. */
export function recordingLog(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = []
  const method =
    (level: keyof Logger): LogMethod =>
    (first: string | Readonly<Record<string, unknown>>, message?: string) => {
      lines.push(
        typeof first === 'string'
          ? { level, message: first, fields: {} }
          : { level, message: message ?? '', fields: first },
      )
    }
  return { lines, debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') }
}
