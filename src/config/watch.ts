import { type FSWatcher, readlinkSync, statSync, type Stats, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from './environment.ts'
import { type Flag, loadConfig, type Sources } from './load.ts'
import { type ConfigError, formatConfigError } from './problem.ts'
import { readConfigFile, type ReadResult } from './read-config-file.ts'
import type { Config } from './schema.ts'
import { readYaml } from './yaml-document.ts'

type WatchFolder = (folder: string, options: { persistent: false }, onEvent: () => void) => FSWatcher

export interface WatchOptions {
  readonly path: string
  readonly env: Environment
  readonly flags: readonly Flag[]
  /** The settings in force. */
  readonly current: Config
  /** Called with new settings that are valid and differ from those in force; they are in force from then on. */
  readonly onChange: (config: Config, sources: Sources) => void
  /**
   * Called once for each new fault; the old settings stay. A file that was there and is gone is a fault too, and so is
   * one that has been emptied.
   */
  readonly onInvalid: (error: ConfigError) => void
  /** Called when the file is valid again, before `onChange` where it says something new. */
  readonly onValid?: () => void
  /** Between the two looks that must agree before a change counts. */
  readonly settleMs?: number
  /** Between two looks where folders cannot be watched. */
  readonly pollMs?: number
  /** `watch` of node:fs. */
  readonly watchFolder?: WatchFolder
}

export interface ConfigWatch {
  readonly close: () => void
}

/** More symbolic links in a row than the system itself would follow. */
const maxLinks = 40

function folderStats(folder: string): Stats | undefined {
  try {
    const stats = statSync(folder)
    return stats.isDirectory() ? stats : undefined
  } catch {
    // Missing, or behind a folder that may not be entered.
    return undefined
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return undefined
  }
}

function nearestFolder(folder: string): string {
  let nearest = folder
  while (folderStats(nearest) === undefined && dirname(nearest) !== nearest) nearest = dirname(nearest)
  return nearest
}

/**
 * The folders in which a change can change the file's content: editors replace a file instead of writing into it, so
 * its folder is watched, and so is the folder of each file that a symbolic link leads to. Where a folder does not exist
 * yet, the nearest one above it stands in.
 */
function foldersOf(path: string): readonly string[] {
  const folders = new Set<string>()
  let file: string | undefined = resolve(path)
  for (let links = 0; file !== undefined && links <= maxLinks; links += 1) {
    folders.add(nearestFolder(dirname(file)))
    file = linkTarget(file)
  }
  return [...folders]
}

/** Changes when a folder is deleted and made again, which the old watcher does not survive. */
function folderIdentity(folder: string): string {
  const stats = folderStats(folder)
  return `${stats?.dev}:${stats?.ino}:${folder}`
}

function contentOf(read: ReadResult): string {
  if (!read.ok) return `fault ${formatConfigError(read.error)}`
  return read.file === undefined ? 'no file' : `file ${read.file.text}`
}

/** Blank, or comments alone. What a full disk or a crash leaves of a file is not meant to lift every setting. */
function holdsNothing(text: string): boolean {
  const read = readYaml(text)
  return read.ok && read.value.value === undefined
}

function emptied(path: string): ConfigError {
  const detail = 'holds no settings any more; for the defaults, write {} into it'
  return { problems: [{ source: { kind: 'file', path }, key: '', detail }] }
}

/**
 * Follows the configuration file and hands on each new valid version. A change counts once two looks, `settleMs` apart,
 * see the same content, so a file that is being written is not taken for an empty one. Where folders cannot be watched
 * (out of watches, some network file systems), the file is looked at every `pollMs`. Does not keep the process alive.
 */
export function watchConfig(options: WatchOptions): ConfigWatch {
  const { path, env, flags, onChange, onInvalid, onValid, settleMs = 100, pollMs = 2000, watchFolder = watch } = options
  const watchers = new Map<string, FSWatcher>()
  let current = options.current
  let reported = ''
  let wasThere = false
  let lastContent: string | undefined
  let takenContent: string | undefined
  let timer: NodeJS.Timeout | undefined
  let polling: NodeJS.Timeout | undefined
  let closed = false

  function lookSoon(): void {
    if (closed || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      void look()
    }, settleMs)
    timer.unref()
  }

  function pollInstead(): void {
    if (polling !== undefined || closed) return
    // Not `watchFile`: it compares with a first look of its own, and a change before that look would stay unseen.
    polling = setInterval(lookSoon, pollMs).unref()
  }

  function watchFolders(): void {
    const wanted = new Map(foldersOf(path).map((folder) => [folderIdentity(folder), folder]))
    for (const [identity, watcher] of watchers) {
      if (wanted.has(identity)) continue
      watcher.close()
      watchers.delete(identity)
    }
    for (const [identity, folder] of wanted) {
      if (watchers.has(identity)) continue
      try {
        watchers.set(identity, watchFolder(folder, { persistent: false }, lookSoon).on('error', pollInstead))
      } catch {
        pollInstead()
      }
    }
  }

  function reportOnce(error: ConfigError): void {
    const text = formatConfigError(error)
    if (text === reported) return
    reported = text
    onInvalid(error)
  }

  function settle(read: ReadResult): void {
    if (!read.ok) return reportOnce(read.error)
    if (read.file === undefined) return
    wasThere = true
    const loaded = loadConfig({ file: read.file, env, flags })
    if (!loaded.ok) return reportOnce(loaded.error)
    const isChanged = !isDeepStrictEqual(loaded.value, current)
    if (isChanged && holdsNothing(read.file.text)) return reportOnce(emptied(path))
    if (reported !== '') onValid?.()
    reported = ''
    if (!isChanged) return
    current = loaded.value
    onChange(loaded.value, loaded.sources)
  }

  async function look(): Promise<void> {
    watchFolders()
    const read = await readConfigFile(path, { required: wasThere })
    if (closed) return
    const content = contentOf(read)
    const isSettled = content === lastContent
    lastContent = content
    if (!isSettled) return lookSoon()
    if (content === takenContent) return
    takenContent = content
    settle(read)
  }

  watchFolders()
  // What changed between reading the settings in force and this moment.
  lookSoon()

  return {
    close: () => {
      closed = true
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
      clearInterval(polling)
    },
  }
}
