import type { ToolFailure } from '../workspace/tool-error.ts'

const MiB = 1024 * 1024

/** For the results of all clients that are being built or have not been read. Bytes. */
const totalBytes = 48 * MiB

/** The part of it that large results may take, so that small ones need not wait for clients that read nothing. Bytes. */
const totalLargeBytes = 24 * MiB

/** A larger result is large. Bytes. */
const smallBytes = 256 * 1024

/** No call of a connection starts while the connection's other answers take more than this. Bytes. */
const queueBytes = MiB

/** A result counts as at most this until it is built, so that a result of any size can start. Bytes. */
const mostReservedBytes = 16 * MiB

/** Reserved for each call, so that one connection can have 100 in progress. Most results are smaller. Bytes. */
export const ordinaryResultBytes = 4 * 1024

/** How long a call waits while nobody reads an answer that it waits for. Ms. */
const maxWaitMs = 60_000

/** The memory for the result of one call. */
export interface CallRoom {
  /**
   * Resolves when the result may take `bytes`, a bound for a result that is not built yet.
   * @throws ToolError `failed` if no memory becomes free for a minute, `cancelled` after the signal is aborted
   */
  readonly reserve: (bytes: number, signal: AbortSignal) => Promise<void>
  /** Replaces the reserved bytes by those of the built result. */
  readonly built: (bytes: number) => void
}

/** The memory for one answer, which may consist of the results of several calls. */
export interface AnswerRoom {
  readonly call: () => CallRoom
  /** Call it when the client has read the answer, or has left. */
  readonly free: () => void
}

/** The answers of one connection. */
export interface AnswerQueue {
  readonly open: () => AnswerRoom
  readonly isFull: () => boolean
}

/** Limits the memory that the results of tools take until clients have read them, for all connections together. */
export interface ResultBudget {
  readonly openQueue: () => AnswerQueue
  /** Whether a call waits because other connections use the memory. */
  readonly isScarce: () => boolean
}

interface Holder {
  heldBytes: number
  /** When it last became less. Monotonic, ms. */
  freedAtMs: number
  /** When its last large result was started. Monotonic, ms. */
  largeAtMs: number
}

interface Waiting {
  readonly queue: Holder
  readonly answer: Holder
  readonly bytes: number
  readonly start: () => void
}

export function createResultBudget(): ResultBudget {
  const all = createHolder()
  const waiting = new Set<Waiting>()

  function isQueueFull({ queue, answer }: Waiting): boolean {
    return queue.heldBytes - answer.heldBytes > queueBytes
  }

  function hasMemory(bytes: number): boolean {
    return all.heldBytes + bytes <= (bytes > smallBytes ? totalLargeBytes : totalBytes)
  }

  /**
   * Starts the calls that can start: first those of the connections that have waited longest for a large result, so that one
   * with many calls does not delay others. A large call lets small ones pass, but no large ones.
   */
  function startWaiting(): void {
    const ready = Array.from(waiting).filter((each) => !isQueueFull(each))
    let mayStartLarge = true
    for (const each of ready.toSorted((one, other) => one.queue.largeAtMs - other.queue.largeAtMs)) {
      const isLarge = each.bytes > smallBytes
      if (isQueueFull(each) || (isLarge && !mayStartLarge)) continue
      if (hasMemory(each.bytes)) each.start()
      else if (isLarge) mayStartLarge = false
    }
  }

  function createAnswer(queue: Holder): AnswerRoom {
    const answer = createHolder()
    let isFreed = false

    function add(bytes: number): void {
      if (isFreed) return
      for (const holder of [answer, queue, all]) {
        holder.heldBytes += bytes
        if (bytes < 0) holder.freedAtMs = performance.now()
      }
      if (bytes < 0 && waiting.size > 0) startWaiting()
    }

    function createCall(): CallRoom {
      let heldBytes = 0
      const hold = (bytes: number): void => {
        const more = bytes - heldBytes
        heldBytes = bytes
        add(more)
      }
      return {
        async reserve(bytes, signal) {
          const wantedBytes = Math.min(bytes, mostReservedBytes)
          const moreBytes = wantedBytes - heldBytes
          if (moreBytes <= 0) return
          const { promise, resolve, reject } = Promise.withResolvers<void>()
          const each: Waiting = {
            queue,
            answer,
            bytes: moreBytes,
            start() {
              waiting.delete(each)
              if (moreBytes > smallBytes) queue.largeAtMs = performance.now()
              hold(wantedBytes)
              resolve()
            },
          }
          if (!isQueueFull(each) && hasMemory(moreBytes)) return each.start()
          waiting.add(each)
          const refuse = (failure: ToolFailure): void => void toToolError(failure).then(reject)
          const cancel = (): void => refuse({ kind: 'cancelled' })
          let timer: NodeJS.Timeout | undefined
          const wait = (delayMs: number): void => {
            timer = setTimeout(() => {
              const awaited = isQueueFull(each) ? queue : all
              const leftMs = awaited.freedAtMs + maxWaitMs - performance.now()
              if (leftMs > 0) wait(leftMs)
              else refuse(noMemory(awaited === queue))
            }, delayMs)
          }
          wait(maxWaitMs)
          signal.addEventListener('abort', cancel, { once: true })
          if (signal.aborted) cancel()
          try {
            await promise
          } finally {
            waiting.delete(each)
            clearTimeout(timer)
            signal.removeEventListener('abort', cancel)
          }
        },
        built: hold,
      }
    }

    return {
      call: createCall,
      free() {
        add(-answer.heldBytes)
        isFreed = true
      },
    }
  }

  return {
    openQueue() {
      const queue = createHolder()
      return { open: () => createAnswer(queue), isFull: () => queue.heldBytes > queueBytes }
    },
    isScarce() {
      for (const each of waiting) if (!isQueueFull(each)) return true
      return false
    },
  }
}

function createHolder(): Holder {
  return { heldBytes: 0, freedAtMs: -Infinity, largeAtMs: -Infinity }
}

function noMemory(isQueueFull: boolean): ToolFailure {
  const detail = isQueueFull
    ? 'Earlier answers of this connection have not been read. Read them, then call the tool again.'
    : 'Other clients have not read their answers, which take all the memory for results. Call the tool again later.'
  return { kind: 'failed', detail }
}

/** Imported with the first refusal, because a daemon without a workspace loads nothing of what workspaces need. */
async function toToolError(failure: ToolFailure): Promise<Error> {
  const { ToolError } = await import('../workspace/tool-error.ts')
  return new ToolError(failure)
}
