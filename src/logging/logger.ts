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
