/** How a reply ended: sent completely, aborted by its client, or broken off by this server. */
export type ReplyEnd = 'finished' | 'aborted' | 'cut'

/**
 * Holds one streamed reply between its pieces until the test releases them. The headers are sent at once. The end of
 * the reply counts as one more piece.
 */
export interface StreamGate {
  /** Resolves when the request has arrived and the reply's headers were handed to the socket. */
  readonly opened: Promise<void>
  readonly closed: Promise<ReplyEnd>
  /** Lets this many more pieces pass. They may still be on their way when it returns. */
  readonly release: (pieces?: number) => void
  /** Lets all pieces pass. */
  readonly open: () => void
  /** Resolves when the reply waits at the closed gate, after everything released so far was written. */
  readonly waiting: () => Promise<void>
}

/** The server's side of a gate. */
export interface GateKeeper {
  readonly gate: StreamGate
  readonly markOpened: () => void
  readonly markClosed: (how: ReplyEnd) => void
  /** Resolves when the next piece may pass. */
  readonly pass: () => Promise<void>
}

export function createGate(): GateKeeper {
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<ReplyEnd>()
  let credits = 0
  let held: PromiseWithResolvers<void> | undefined
  let watchers: (() => void)[] = []

  const release = (pieces: number): void => {
    credits += pieces
    if (held === undefined || credits < 1) return
    credits -= 1
    const { resolve } = held
    held = undefined
    resolve()
  }

  const open = (): void => {
    release(Number.POSITIVE_INFINITY)
  }

  return {
    gate: {
      opened: opened.promise,
      closed: closed.promise,
      release: (pieces = 1) => {
        release(pieces)
      },
      open,
      waiting: () => {
        if (held !== undefined) return Promise.resolve()
        const { promise, resolve } = Promise.withResolvers<void>()
        watchers.push(resolve)
        return promise
      },
    },
    markOpened: opened.resolve,
    markClosed: (how) => {
      closed.resolve(how)
      // The client has left while the reply was held. Release the writer, so that it notices.
      open()
    },
    pass: () => {
      if (credits >= 1) {
        credits -= 1
        return Promise.resolve()
      }
      held = Promise.withResolvers<void>()
      for (const notify of watchers) notify()
      watchers = []
      return held.promise
    },
  }
}
