import { open } from 'node:fs/promises'
import { inMemory } from '../sqlite/database.ts'
import type { SessionStore } from './session-store.ts'

export interface CheckpointsDeps {
  readonly file: string
  /** Undefined if the file cannot be used. */
  readonly attempt: <Result>(act: (store: SessionStore) => Result) => Result | undefined
  readonly isOpen: () => boolean
}

/**
 * Moves the write-ahead log into the file when it is long. That waits for the disk, and nothing else runs in this process
 * meanwhile, so it happens apart from writes, and after a thread of Node has brought the log to the disk, which is half of it.
 */
export interface Checkpoints {
  /** After a write. */
  readonly consider: () => void
  /** Resolves when the log is in the file, or cannot be moved there now. */
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

/** Only saves time: SQLite waits for the log itself before it relies on it. */
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
    // No log, or a file system that cannot do this.
  }
}
