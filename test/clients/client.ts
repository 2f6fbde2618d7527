import type { Finished, RunningClient } from './run-client.ts'

/** What a client is pointed at. */
export interface Settings {
  /** Of the proxy, without `/v1`. */
  readonly url: string
  readonly model: string
  /** Ask the model to think, where the client does not do so by itself. */
  readonly isThinking: boolean
  readonly key: string
  /** Text that is added to the client's own configuration. */
  readonly more?: string
  /** Text before it, for formats in which sections follow single settings. */
  readonly first?: string
}

/** Where a client runs: nothing of it is shared with another test or with the person at this machine. */
export interface Place {
  readonly home: string
  readonly workspace: string
}

export interface Ask {
  readonly prompt: string
  /** Goes on with the conversation before. */
  readonly isResumed?: boolean
  /** File to attach to the prompt. */
  readonly image?: string
}

/** What a client printed, in no client's form. */
export interface Printed {
  readonly exitCode: number | null
  /** The model's last words. */
  readonly text: string
  /** What the client says of a failure; '' for none. */
  readonly failure: string
  readonly finished: Finished
}

export interface Client {
  readonly name: string
  /** A marker that makes the model call the client's own tool for reading files. */
  readonly callToRead: (file: string) => string
  readonly start: (place: Place, settings: Settings, ask: Ask) => Promise<RunningClient>
  readonly read: (finished: Finished) => Omit<Printed, 'exitCode' | 'finished'>
}

export async function askClient(client: Client, place: Place, settings: Settings, ask: Ask): Promise<Printed> {
  const finished = await (await client.start(place, settings, ask)).finished
  return { exitCode: finished.exitCode, ...client.read(finished), finished }
}

/** The JSON values of an output that has one in each line; other lines are left out. */
export function jsonLines(text: string): readonly Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
}
