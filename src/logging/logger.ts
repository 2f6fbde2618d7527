/** pino's logger is assignable. */
export interface Logger {
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
}

export interface LogMethod {
  (message: string): void
  (fields: Readonly<Record<string, unknown>>, message: string): void
}

const ignore = (): void => {}

/** For modules whose warnings are reported by their caller. */
export const silentLog: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
