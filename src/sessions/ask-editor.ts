import type { DaemonEvent } from '../api/events.ts'
import type { EditorAnswer, EditorRequest } from '../workspace/open-files.ts'

/** What the caller of a run is asked about a file in their editor. */
export type EditorEvent = Omit<Extract<DaemonEvent, { readonly type: 'editor' }>, 'id' | 'sessionId' | 'time'>

export interface AskEditorDeps {
  /** Functions that take the answer of a request, by request id. */
  readonly requests: Map<string, (answer: EditorAnswer) => void>
  readonly emit: (event: EditorEvent) => void
  readonly randomId: () => string
  /** Returns a function that cancels the timer. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** An editor saves a file when it takes a text, and may format it first. Ms. */
const patienceMs = { read: 2000, write: 10_000 } as const

/** Asks the caller of a run about a file in their editor. Undefined: the caller does not answer. Never rejects. */
export async function askEditor(
  { requests, emit, randomId, setTimer }: AskEditorDeps,
  request: EditorRequest,
  signal: AbortSignal,
): Promise<EditorAnswer | undefined> {
  const requestId = randomId()
  const answered = Promise.withResolvers<EditorAnswer | undefined>()
  const stop = (): void => answered.resolve(undefined)
  const endTimer = setTimer(stop, patienceMs[request.action])
  signal.addEventListener('abort', stop, { once: true })
  requests.set(requestId, answered.resolve)
  try {
    if (signal.aborted) return undefined
    emit({ type: 'editor', requestId, ...request })
    return await answered.promise
  } finally {
    requests.delete(requestId)
    signal.removeEventListener('abort', stop)
    endTimer()
  }
}
