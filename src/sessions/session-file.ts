import type { Logger } from '../logging/logger.ts'
import { DatabaseError, identify, inMemory, setAside } from '../sqlite/database.ts'
import { openSessionStore, type SessionStore } from './session-store.ts'

export interface SessionFileDeps {
  /** With `:memory:`, sessions last until the process ends. */
  readonly file: string
  /** If true, the store is in memory while another process has the file. */
  readonly isOptional?: boolean | undefined
  /** Default: that of `openSessionStore`. */
  readonly maxBytes?: number | undefined
  readonly log: Pick<Logger, 'error' | 'warn'>
}

/** The file of the sessions, opened or created when it is first used. */
export interface SessionFile {
  readonly isOpen: () => boolean
  /** Whether the store is in memory because another process has the file. */
  readonly isReplaced: () => boolean
  /**
   * Calls `act` with the store. If the file is damaged, moves it aside and calls `act` with a new one.
   * @throws DatabaseError
   */
  readonly use: <Result>(act: (store: SessionStore) => Result) => Result
  readonly close: () => void
}

/** @param onOpen runs with each opened store before anything else uses it */
export function createSessionFile(
  { file, isOptional, maxBytes, log }: SessionFileDeps,
  onOpen: (store: SessionStore) => void,
): SessionFile {
  let store: SessionStore | undefined
  let isReplaced = false

  function openStore(): SessionStore {
    try {
      return openSessionStore(file, maxBytes)
    } catch (error) {
      if (isOptional !== true || !(error instanceof DatabaseError) || error.problem !== 'busy') throw error
      isReplaced = true
      return openSessionStore(inMemory, maxBytes)
    }
  }

  function open(): SessionStore {
    if (store !== undefined) return store
    const opened = openStore()
    store = opened
    try {
      onOpen(opened)
    } catch (error) {
      opened.close()
      store = undefined
      throw error
    }
    return opened
  }

  function replace(cause: DatabaseError): void {
    const found = identify(file)
    store?.close()
    store = undefined
    const aside = found === undefined ? undefined : setAside(file, found)
    if (aside === undefined) throw cause
    log.error({ file: aside, reason: cause.message }, 'the session file was damaged; renamed it and created a new one')
  }

  return {
    isOpen: () => store !== undefined,
    isReplaced: () => isReplaced,
    use(act) {
      try {
        return act(open())
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.problem !== 'damaged') throw error
        try {
          replace(error)
        } catch (failure) {
          throw failure instanceof DatabaseError
            ? failure
            : new DatabaseError('damaged', error.message, { cause: failure })
        }
        return act(open())
      }
    },
    close() {
      store?.close()
      store = undefined
    },
  }
}
