import type { ModelName } from '../../acp/choices.ts'
import { daemonEvent } from '../../api/events.ts'
import type { DaemonEvent } from '../../api/events.ts'
import { isObject } from '../../json/json.ts'
import { createRunClient } from '../agent/client.ts'
import type { RunClient } from '../agent/client.ts'
import type { Connector, Place } from '../agent/connect.ts'
import type { CommandContext } from '../shared/command.ts'

/** A session opens without a list of models if upstream is slow. Ms. */
const modelsTimeoutMs = 5000

export interface FeedListener {
  readonly conversationId: string
  readonly onEvent: (event: DaemonEvent) => void
  /** Events were lost. */
  readonly onGap: () => void
  /** The daemon no longer answers. */
  readonly onEnd: () => void
}

/** The events of one workspace, of which each conversation gets its own. */
export interface Feed {
  readonly place: Place
  readonly client: RunClient
  /** Whether the daemon still answers, however late. */
  readonly isAlive: () => Promise<boolean>
  /** Those that a message can name. Empty if they cannot be listed now. */
  readonly models: () => Promise<readonly ModelName[]>
  /** Returns a function that unsubscribes. */
  readonly listen: (listener: FeedListener) => () => void
}

/** Opens each workspace once. @param note takes sentences for the log */
export function createFeeds(
  context: CommandContext,
  {
    connector,
    signal,
    note,
  }: {
    readonly connector: Connector
    readonly signal: AbortSignal
    readonly note: (sentence: string) => void
  },
) {
  const feeds = new Map<string, Promise<Feed>>()

  async function follow(place: Place, onEnd: () => void): Promise<Feed> {
    const client = createRunClient(context, place)
    const listeners = new Set<FeedListener>()
    let isBroken = false
    const events = await client.events(signal, () => {
      isBroken = true
      note('The connection to copilot-proxy broke. Connecting again ...')
    })

    function handle(given: unknown): void {
      const { data: event } = daemonEvent.safeParse(given)
      if (event?.type === 'gap' || (isObject(given) && given['type'] === 'gap')) {
        for (const { onGap } of listeners) onGap()
      } else if (event === undefined) note('The running copilot-proxy is another version. Run: copilot-proxy restart')
      else if (event.type === 'error') for (const { onEvent } of listeners) onEvent(event)
      else if ('conversationId' in event) {
        for (const { conversationId, onEvent } of listeners) if (conversationId === event.conversationId) onEvent(event)
      }
    }

    async function read(): Promise<void> {
      try {
        for await (const given of events) handle(given)
      } catch (error) {
        if (!signal.aborted) note(error instanceof Error ? error.message : String(error))
      }
      onEnd()
      for (const each of listeners) each.onEnd()
    }

    void read()
    return {
      place,
      client,
      async isAlive() {
        const isAnswered = await client.conversations(signal).then(
          () => true,
          () => false,
        )
        // Another daemon may have taken the address meanwhile.
        return isAnswered && !isBroken
      },
      models: () => client.models(AbortSignal.any([signal, AbortSignal.timeout(modelsTimeoutMs)])).catch(() => []),
      listen(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }

  return {
    /** @throws CommandFailure if the folder cannot be a workspace, or no model can be reached */
    async open(folder: string): Promise<Feed> {
      const place = await connector.open(folder)
      const key = `${place.url} ${place.key} ${place.sessionId}`
      const known = feeds.get(key)
      if (known !== undefined) return known
      const forget = (): void => void feeds.delete(key)
      const opened = follow(place, forget)
      feeds.set(key, opened)
      opened.catch(forget)
      return opened
    },
    /** The feeds of the workspaces that are open. */
    all: (): Promise<readonly Feed[]> => Promise.all(feeds.values()),
  }
}

export type Feeds = ReturnType<typeof createFeeds>
