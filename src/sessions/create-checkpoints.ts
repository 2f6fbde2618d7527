import { open } from 'node:fs/promises'
import { inMemory } from '../sqlite/database.ts'
import type { SessionStore } from './session-store.ts'

export interface CheckpointsDeps {
  readonly file: string
  /** Returns undefined if SQLite cannot use the file. */
  readonly attempt: <Result>(act: (store: SessionStore) => Result) => Result | undefined
  readonly isOpen: () => boolean
}

/**
 * Moves a long write-ahead log into the file. SQLite blocks the event loop while it waits for the disk. To shorten that, this
 * never happens within a write, and Node first syncs the log in another thread, which is about half of the time.
 */
export interface Checkpoints {
  /** Call it after a write: it starts a checkpoint if the log is long. */
  readonly consider: () => void
  /** Resolves when the log is in the file, or when SQLite could not move it. */
  readonly run: () => Promise<void>
}

export function createCheckpoints({ file, attempt, isOpen }: CheckpointsDeps): Checkpoints {
  let running: Promise<void> | undefined

  async function move(): Promise<void> {
    await syncLog(`${file}-wal`)
    if (isOpen()) attempt((store) => store.checkpoint())
  }

  const run = (): Promise<void> =>
    (running ??= move().finally(() => {
      running = undefined
    }))

  return {
    consider() {
      if (running === undefined && attempt((store) => store.hasLongLog()) === true) void run()
    },
    run,
  }
}

/** Only saves time: SQLite syncs the log itself before it relies on it. */
async function syncLog(log: string): Promise<void> {
  if (log.startsWith(inMemory)) return
  try {
    const opened = await open(log, 'r+')
    try {
      await opened.datasync()
    } finally {
      await opened.close()
    }
  } catch {
    // There is no log, or the file system cannot sync it.
  }
}
