import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { FileContent, FileStart, Folder, ReadLimits } from './folder.ts'
import { changedConflict, type Change, type CommitOptions, type Journal } from './patch/journal.ts'
import { likeFile } from './patch/line-ends.ts'
import { failed, quote, ToolError } from './tool-error.ts'

/** What an editor is asked about one file. `path` is relative to the root, without links. */
export type EditorRequest =
  | { readonly action: 'read'; readonly path: string }
  /** The file on disk has a new text, which has this SHA-256. */
  | { readonly action: 'write'; readonly path: string; readonly sha256: string }

export interface EditorAnswer {
  /** Whether the editor has the file, and has done what was asked. */
  readonly ok: boolean
  /** The answer to `read`. */
  readonly text?: string | undefined
}

/** The editor of the person whose message has begun a run. */
export interface Editor {
  /** Whether the editor takes texts. */
  readonly takesTexts: boolean
  /** Asks the editor. Undefined: it has left, or it is silent. Never rejects. */
  readonly ask: (request: EditorRequest, signal: AbortSignal) => Promise<EditorAnswer | undefined>
  /** Resolves after a time, or when the signal is aborted. */
  readonly pause: (delayMs: number, signal: AbortSignal) => Promise<void>
}

/** The files that are open in an editor, during one run. */
export interface OpenFiles {
  readonly takesTexts: boolean
  /**
   * Returns the text of a file in the editor if the file never had it on disk, as far as this run knows: an editor may show the
   * text from before a change for a moment. Undefined: the file on disk is the newest text, or the editor does not tell.
   * @param path relative to the root, without links
   */
  readonly unsaved: (path: string, disk: Buffer, signal: AbortSignal | undefined) => Promise<Buffer | undefined>
  /** Asks the editor to show the text that the file now has on disk. */
  readonly replace: (path: string, after: { readonly sha256: string }, signal: AbortSignal) => Promise<void>
  /** Notes that the file has had a text. */
  readonly noteSaved: (path: string, text: Buffer) => void
  /** Notes that a command may have changed files, which the editor loads in a moment. */
  readonly noteCommand: () => void
}

/** Longer files are read from disk, on both sides. Bytes. */
const maxOpenBytes = 1024 * 1024

/** After a command, an editor that has another text than the disk is asked again after these times. Ms. */
const loadMs = [100, 300, 600]

const lineFeed = 0x0a

export function createOpenFiles({ takesTexts, ask, pause }: Editor): OpenFiles {
  /** Hashes of the texts that files have had on disk, by path. */
  const saved = new Map<string, Set<string>>()
  /** The editor has failed with these files, so that its text may be older than the disk. */
  const failedPaths = new Set<string>()
  let isSilent = false
  let hasRun = false
  /** The files that the editor has told since the last command. */
  const told = new Set<string>()

  async function request(given: EditorRequest, signal: AbortSignal): Promise<EditorAnswer> {
    if (isSilent || failedPaths.has(given.path)) return { ok: false }
    const answer = await ask(given, signal)
    // An editor that is silent once is not waited for again.
    if (answer === undefined) isSilent = true
    else if (!answer.ok) failedPaths.add(given.path)
    return answer ?? { ok: false }
  }

  /** Returns the text that the editor has in place of those that the file had on disk. */
  async function askText(path: string, signal: AbortSignal): Promise<string | undefined> {
    const { ok, text } = await request({ action: 'read', path }, signal)
    return !ok || text === undefined || saved.get(path)?.has(hashOf(text)) === true ? undefined : text
  }

  /** What a command has written on disk must not look as if the person had typed the text from before. */
  async function typedText(path: string, signal: AbortSignal): Promise<string | undefined> {
    const delays = hasRun && !told.has(path) ? loadMs : []
    told.add(path)
    let text = await askText(path, signal)
    for (const delayMs of delays) {
      if (text === undefined || signal.aborted) break
      await pause(delayMs, signal)
      text = await askText(path, signal)
    }
    return text
  }

  function noteSaved(path: string, text: Buffer): void {
    const known = saved.get(path) ?? new Set()
    saved.set(path, known.add(hashOf(text.toString())))
  }

  return {
    takesTexts,
    noteSaved,
    noteCommand() {
      hasRun = true
      told.clear()
    },
    async unsaved(path, disk, signal = new AbortController().signal) {
      if (disk.length > maxOpenBytes || !isUtf8(disk) || disk.includes(0)) return undefined
      noteSaved(path, disk)
      const typed = await typedText(path, signal)
      if (typed === undefined) return undefined
      const isOpen = typed !== '' && !typed.endsWith('\n')
      const end = isOpen && disk.at(-1) === lineFeed ? '\n' : ''
      const text = await likeFile(disk, typed + end)
      return text.length > maxOpenBytes ? undefined : text
    },
    async replace(path, { sha256 }, signal) {
      const { ok } = await request({ action: 'write', path, sha256 }, signal)
      // The editor shows no older text any more. If it does again, the person has brought it back.
      if (ok) saved.delete(path)
    },
  }
}

/** Returns the folder with the texts of the editor in place of the files that it has changed and not saved. */
export function withOpenFiles(folder: Folder, open: OpenFiles | undefined): Folder {
  if (open === undefined) return folder
  const { takesTexts, unsaved: unsavedText } = open

  /** Reads a file and what the editor has of it. The editor is asked after the rules of the folder have admitted the file. */
  async function read<Found extends FileStart>(
    given: string,
    limits: ReadLimits,
    readDisk: (path: string, limits: ReadLimits) => Promise<Found>,
  ): Promise<Found> {
    let path = ''
    const found = await readDisk(given, {
      ...limits,
      async admit(real) {
        await limits.admit?.(real)
        path = real
      },
    })
    if (found.size > maxOpenBytes) return found
    const { signal } = limits
    const whole = { maxBytes: maxOpenBytes, ...(signal !== undefined && { signal }) }
    const { sha256 } = found
    const disk = sha256 === undefined ? await folder.readFile(given, whole) : { ...found, sha256 }
    const bytes = await unsavedText(path, disk.bytes, signal)
    if (bytes === undefined) return found
    const unsaved = { disk, mayReplace: takesTexts }
    return { ...found, bytes, sha256: hash('sha256', bytes), size: bytes.length, unsaved }
  }

  return {
    ...folder,
    async readFile(given, limits) {
      const found = await read(given, limits, folder.readFile)
      if (found.unsaved === undefined || found.size <= limits.maxBytes) return found
      throw new ToolError({ kind: 'too_large', detail: `${quote(given)} is longer in the editor than the limit.` })
    },
    async readStart(given, limits) {
      const found = await read(given, limits, folder.readStart)
      if (found.unsaved === undefined || found.size <= limits.maxBytes) return found
      return { ...found, bytes: found.bytes.subarray(0, limits.maxBytes), sha256: undefined }
    },
  }
}

/**
 * Returns sentences for a person about the unsaved texts that a change stores.
 * @throws ToolError `failed` for a change that would leave the editor with a text that no file has
 */
export function unsavedNotes(changes: readonly Change[]): readonly string[] {
  return changes.flatMap(({ path, before, after }) => {
    if (before?.unsaved === undefined) return []
    const sentence = `${path} has changes in the editor that are not saved.`
    if (after !== null && before.unsaved.mayReplace) return [`${sentence} This change saves them.`]
    const why = after === null ? 'The file cannot be removed or renamed' : 'The editor takes no text from outside'
    throw failed(`${sentence} ${why}: save them first. No file was changed.`)
  })
}

/**
 * Returns the journal for changes of files that are open in an editor. What the person has typed becomes a change of its own that
 * belongs to no run, so that undoing the other one gives it back.
 */
export function journalOfOpenFiles(journal: Journal, open: OpenFiles): Journal {
  /** @throws ToolError `conflict` if the editor has another text than the change was made for */
  async function refuseTyped({ path, before }: Change, signal: AbortSignal): Promise<void> {
    if (before === null) return
    const now = await open.unsaved(path, (before.unsaved?.disk ?? before).bytes, signal)
    const expected = before.unsaved === undefined ? undefined : before.sha256
    const found = now === undefined ? undefined : hash('sha256', now)
    if (found !== expected) throw changedConflict(path, before.sha256, found ?? before.unsaved?.disk.sha256)
  }

  /** Stores what the person has typed. Returns a function that takes it back: a change that fails leaves the disk as it was. */
  async function save(typed: readonly TypedText[], { signal, ownerId }: CommitOptions): Promise<() => Promise<void>> {
    if (typed.length === 0) return async () => {}
    const toChange = ({ path, disk, text }: TypedText): Change => ({
      path,
      before: disk,
      after: { ...text, mode: undefined },
    })
    const id = await journal.commit(typed.map(toChange), { signal, ownerId })
    return async () => {
      const undoes = (await journal.entries()).filter((entry) => entry.id === id)
      const back = typed.map(({ path, disk, text }) => ({ path, before: text, after: disk }))
      await journal.commit(back, { signal: new AbortController().signal, ownerId, undoes })
    }
  }

  return {
    ...journal,
    async commit(changes, options) {
      const { signal } = options
      for (const change of changes) await refuseTyped(change, signal)
      const typed = changes.flatMap(({ path, before }) => {
        if (before?.unsaved === undefined) return []
        const { unsaved, ...text } = before
        return [{ path, disk: unsaved.disk, text }]
      })
      const takeBack = await save(typed, options)
      let id: string
      try {
        id = await journal.commit(changes, options)
      } catch (error) {
        // Somebody else may have changed the file since: then it stays.
        await takeBack().catch(() => {})
        throw error
      }
      for (const { path, before } of changes) if (before !== null) open.noteSaved(path, before.bytes)
      for (const { path, before, after } of changes) {
        if (before?.unsaved !== undefined && after !== null) await open.replace(path, after, signal)
      }
      return id
    },
  }
}

/** A text that a person has typed, and the file on disk that it is for. */
interface TypedText {
  readonly path: string
  readonly disk: FileContent
  readonly text: FileContent
}

/** Removes what editors do not count as text: the byte order mark, the kind of line ends, and the end of the last line. */
function withoutForm(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .replace(/\n$/, '')
}

function hashOf(text: string): string {
  return hash('sha256', withoutForm(text))
}

/** How an editor gives a text. */
export interface TextForm {
  readonly hasMark: boolean
  readonly hasCr: boolean
  /** Whether the last line has an end. */
  readonly isEnded: boolean
}

export function formOf(text: string): TextForm {
  return {
    hasMark: text.startsWith('\uFEFF'),
    hasCr: text.includes('\r\n'),
    isEnded: text === '' || text.endsWith('\n'),
  }
}

/** Gives the text of a file the form in which an editor gives its own. */
export function likeEditor(text: string, { hasMark, hasCr, isEnded }: TextForm): string {
  const marked = hasMark ? text : text.replace(/^\uFEFF/, '')
  const ended = hasCr ? marked : marked.replaceAll('\r\n', '\n')
  return isEnded ? ended : ended.replace(/\r?\n$/, '')
}
