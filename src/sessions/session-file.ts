import type { Logger } from '../logging/logger.ts'
import { DatabaseError, identify, inMemory, setAside, withDatabaseErrors } from '../sqlite/database.ts'
import type { FileIdentity } from '../sqlite/database.ts'
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
   * Calls `act` with the store. If the file is damaged, moves it aside and calls `act` with a new one. If somebody has removed
   * the file, opens the one that is in its place or creates it.
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
  /** The file of the open store. */
  let identity: FileIdentity | undefined
  let isReplaced = false
  const isInMemory = (): boolean => file === inMemory || isReplaced
  const guarded = <Result>(act: () => Result): Result => withDatabaseErrors(file, 'the sessions', act)

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
    if (store !== undefined && isInPlace()) return store
    close()
    const opened = openStore()
    store = opened
    try {
      identity = isInMemory() ? undefined : identify(file)
      onOpen(opened)
    } catch (error) {
      close()
      throw error
    }
    return opened
  }

  /** SQLite would go on writing to a removed file, which nobody can open again. The check takes 4 µs. */
  function isInPlace(): boolean {
    if (isInMemory()) return true
    try {
      if (identify(file)?.inode === identity?.inode) return true
    } catch {
      // The folder cannot be searched any more. SQLite needs it only to open the file.
      return true
    }
    log.error({ file }, 'the session file was removed; opened or created the file in its place')
    return false
  }

  function close(): void {
    store?.close()
    store = undefined
  }

  function replace(cause: DatabaseError): void {
    const found = identify(file)
    close()
    const aside = found === undefined ? undefined : setAside(file, found)
    if (aside === undefined) throw cause
    log.error({ file: aside, reason: cause.message }, 'the session file was damaged; renamed it and created a new one')
  }

  return {
    isOpen: () => store !== undefined,
    isReplaced: () => isReplaced,
    use(act) {
      try {
        return act(guarded(open))
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.problem !== 'damaged') throw error
        guarded(() => replace(error))
        return act(guarded(open))
      }
    },
    close,
  }
}
