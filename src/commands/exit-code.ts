/** What a command ends with; the root help lists them. */
export const exitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  notLoggedIn: 3,
  interrupted: 130,
} as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** Takes what a command ended with: an `ExitCode`, or what the program that it ran ended with. */
export type Finish = (code: number) => void

/**
 * Ends a command with one message for people. `message` is whole sentences, may have several lines, and holds no
 * secret; what caused it is in `cause`, for the log at debug level only.
 */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: ExitCode

  constructor(code: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = code
  }
}
