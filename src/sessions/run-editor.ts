import type { DaemonEvent } from '../api/events.ts'
import type { EditorAbility } from '../api/inputs.ts'
import type { Editor, EditorAnswer, EditorRequest } from '../workspace/open-files.ts'

/** What the caller of a run is asked about a file in their editor. */
export type EditorEvent = Omit<Extract<DaemonEvent, { readonly type: 'editor' }>, 'id' | 'sessionId' | 'time'>

export interface RunEditorDeps {
  readonly ability: EditorAbility
  /** Functions that take the answer of a request, by request id. */
  readonly requests: Map<string, (answer: EditorAnswer) => void>
  readonly emit: (event: EditorEvent) => void
  /** Tells the person a sentence. */
  readonly tell: (text: string) => void
  readonly randomId: () => string
  /** Returns a function that cancels the timer. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** An editor saves a file when it takes a text, and may format it first. Ms. */
const patienceMs = { read: 2000, write: 10_000 } as const

/** The editor of the caller whose message begins a run. The caller gets each request as an event, and sends the answer. */
export function createRunEditor({ ability, requests, emit, tell, randomId, setTimer }: RunEditorDeps): Editor {
  /** Returns undefined when the time is over or the signal is aborted. */
  async function within<Answer>(
    delayMs: number,
    signal: AbortSignal,
    { promise, resolve }: PromiseWithResolvers<Answer | undefined>,
  ): Promise<Answer | undefined> {
    if (signal.aborted) return undefined
    const stop = (): void => resolve(undefined)
    const endTimer = setTimer(stop, delayMs)
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', stop)
      endTimer()
    }
  }

  /** Undefined: the caller does not answer. */
  async function answerTo(request: EditorRequest, signal: AbortSignal): Promise<EditorAnswer | undefined> {
    if (signal.aborted) return undefined
    const requestId = randomId()
    const answered = Promise.withResolvers<EditorAnswer | undefined>()
    requests.set(requestId, answered.resolve)
    try {
      emit({ type: 'editor', requestId, ...request })
      return await within(patienceMs[request.action], signal, answered)
    } finally {
      requests.delete(requestId)
    }
  }

  return {
    takesTexts: ability === 'write',
    pause: (delayMs, signal) => within(delayMs, signal, Promise.withResolvers<undefined>()),
    async ask(request, signal) {
      const answer = await answerTo(request, signal)
      if (request.action === 'write' && answer?.ok !== true) {
        tell(
          `The editor did not take the new text of ${request.path}. It is on disk: load the file again in the editor.`,
        )
      } else if (answer === undefined && !signal.aborted) {
        tell('The editor does not answer, so the run uses the files on disk.')
      }
      return answer
    },
  }
}
