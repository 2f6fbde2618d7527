/** What a service manager is told of this program. Nothing of it is secret: such files are often copied and shown. */
export interface ServiceDefinition {
  /** Node.js, script and arguments; absolute, since a service has no search path to speak of. */
  readonly command: readonly [string, ...string[]]
  readonly environment: Readonly<Record<string, string>>
  /** For answers on their way to be finished, and a margin. */
  readonly stopSeconds: number
  /** What it says on standard error, where the system does not keep that itself. */
  readonly logFile: string
}

/** First words of every file that this program wrote, and may replace or remove. */
export const marker = 'Written by copilot-proxy service install, and replaced by the next one.'
