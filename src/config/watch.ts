import { type FSWatcher, readlinkSync, statSync, type Stats, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from './environment.ts'
import { type Flag, loadConfig, type Sources } from './load.ts'
import { type ConfigError, formatConfigError, formatProblems, type Problem } from './problem.ts'
import { readConfigFile, type ReadResult } from './read-config-file.ts'
import type { Config } from './schema.ts'
import { readYaml } from './yaml-document.ts'

type WatchFolder = (folder: string, options: { persistent: false }, onEvent: () => void) => FSWatcher

export interface WatchOptions {
  readonly path: string
  readonly env: Environment
  readonly flags: readonly Flag[]
  readonly current: Config
  /** Called with new valid settings. */
  readonly onChange: (config: Config, sources: Sources) => void
  /** The retired settings that the caller has reported. */
  readonly warnings?: readonly Problem[]
  /** Called with the retired settings of a valid version, if they are others than before. */
  readonly onWarnings?: (warnings: readonly Problem[]) => void
  /** Called once for each new fault; the old settings stay. A deleted or emptied file is a fault. */
  readonly onInvalid: (error: ConfigError) => void
  /** Called when the file is valid again, before any `onChange`. */
  readonly onValid?: () => void
  /** Between the two reads that must agree before a change counts. */
  readonly settleMs?: number
  /** Between two reads if folders cannot be watched. */
  readonly pollMs?: number
  /** `watch` of node:fs. */
  readonly watchFolder?: WatchFolder
}

export interface ConfigWatch {
  readonly close: () => void
}

/** Operating systems follow at most this many symbolic links in a row. */
const maxLinks = 40

function folderStats(folder: string): Stats | undefined {
  try {
    const stats = statSync(folder)
    return stats.isDirectory() ? stats : undefined
  } catch {
    // Missing, or in a folder without access.
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
 * The folders to watch: those of the file and of each target of its symbolic links, because editors replace a file instead of
 * writing into it. If the folder does not exist, the nearest existing parent is watched.
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

/** Changes when a folder is deleted and recreated, which its watcher does not notice. */
function folderIdentity(folder: string): string {
  const stats = folderStats(folder)
  return `${stats?.dev}:${stats?.ino}:${folder}`
}

function contentOf(read: ReadResult): string {
  if (!read.ok) return `fault ${formatConfigError(read.error)}`
  return read.file === undefined ? 'no file' : `file ${read.file.text}`
}

/** Blank, or comments only, as after a full disk or a crash: not meant to reset every setting. */
function holdsNothing(text: string): boolean {
  const read = readYaml(text)
  return read.ok && read.value.value === undefined
}

function emptied(path: string): ConfigError {
  const detail = 'has no settings; to use the defaults, write {} into it'
  return { problems: [{ source: { kind: 'file', path }, key: '', detail }] }
}

/**
 * Reports each new valid version of the configuration file. A change counts when two reads, `settleMs` apart, agree, so that
 * a half-written file does not count. Polls if folders cannot be watched (out of watches, some network file systems). Does
 * not keep the process alive.
 */
export function watchConfig(options: WatchOptions): ConfigWatch {
  const { path, env, flags, onChange, onInvalid, onValid, settleMs = 100, pollMs = 2000, watchFolder = watch } = options
  const watchers = new Map<string, FSWatcher>()
  let current = options.current
  let reported = ''
  let wasThere = false
  let warned = formatProblems(options.warnings ?? [])
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
    // Not `watchFile`: it would miss a change before its own first read.
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

  function warnOnce(warnings: readonly Problem[]): void {
    const text = formatProblems(warnings)
    if (text !== warned && text !== '') options.onWarnings?.(warnings)
    warned = text
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
    warnOnce(loaded.warnings)
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
  // The file may have changed since `current` was read.
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
