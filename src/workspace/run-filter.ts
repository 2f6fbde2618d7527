import { hash } from 'node:crypto'
import type { Folder } from './folder.ts'
import { unsavedNotes } from './open-files.ts'
import type { Journal } from './patch/journal.ts'
import { diffOf } from './patch/render-diff.ts'
import { toText } from './read-text.ts'
import { failed, ToolError } from './tool-error.ts'

/** Runs a program in the root of the workspace, without a shell, with a text as its standard input. */
type RunCommand = (
  argv: readonly string[],
  options: { readonly stdin: string; readonly signal: AbortSignal },
) => Promise<{
  /** Null if a signal ended the program. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Whether the output is incomplete. */
  readonly truncated: boolean
  /** Sentences about what the sandbox did not let the program do. */
  readonly notes?: readonly string[]
}>

/** The functions and limits that a filter needs. */
export interface FilterContext {
  /** @throws ToolError */
  readonly authorize: (intent: {
    readonly argv?: readonly string[]
    readonly policyArgv?: readonly string[]
    readonly cwd?: string
    readonly writes?: readonly string[]
    readonly diff?: string
    readonly notes?: readonly string[]
  }) => Promise<void>
  readonly signal: AbortSignal
  readonly run: RunCommand
}

export interface RewriteContext extends FilterContext {
  /** The folder with the texts of an editor. The file is read from here, and configuration from the disk. */
  readonly files: Folder
  readonly journal: Journal
  readonly maxFileBytes: number
}

export interface RewriteResult {
  readonly ok: true
  /** Whether the bytes of the file have changed. */
  readonly changed: boolean
  /** Id of the journal entry, for `undoPatch`. Absent if nothing was changed. */
  readonly id?: string
}

/** Returns the new text of a file. @throws ToolError */
export type RewriteText = (folder: Folder, path: string, text: string, context: FilterContext) => Promise<string>

/** A program that reads a text from standard input and writes the new text to standard output. */
export interface Filter {
  /** The argument vector that the policy must allow. It does not contain the path of the file. */
  readonly words: readonly string[]
  /** Whether the path of the file is added as the last argument. */
  readonly takesPath: boolean
}

/** Maximum length of the program's error output in a message. Characters. */
const maxComplaint = 500

/** Returns the output of a filter for a text. @throws ToolError of `authorize`; `failed` */
export async function runFilter(
  { words, takesPath }: Filter,
  path: string,
  text: string,
  { authorize, run, signal }: FilterContext,
): Promise<string> {
  const [program = ''] = words
  // With `./`, the program does not read a name such as `--config=x.js` as an option.
  const argv = takesPath ? [...words, `./${path}`] : words
  await authorize({ argv, policyArgv: words, cwd: '' })
  const { exitCode, stdout, stderr, truncated, notes = [] } = await run(argv, { stdin: text, signal })
  if (exitCode !== 0) {
    const complaint = stderr.trim().slice(0, maxComplaint)
    const outcome = `${program} failed${exitCode === null ? '' : ` with exit code ${exitCode}`}: ${complaint}`
    throw failed([outcome, ...notes].join('\n'))
  }
  if (truncated) throw failed(`The output of ${program} is too large. The file was not changed.`)
  if (stdout === '' && text.trim() !== '') throw failed(`${program} gave no output. The file was not changed.`)
  return stdout
}

/**
 * Rewrites a file. The journal keeps its old bytes.
 * @throws ToolError of `rewrite`, `authorize` and `Journal.commit`; `failed` for a file that is not text; `too_large`
 */
export async function rewriteFile(
  folder: Folder,
  { path: callersPath }: { readonly path: string },
  context: RewriteContext,
  rewrite: RewriteText,
): Promise<RewriteResult> {
  const { authorize, signal, journal, files, maxFileBytes } = context
  const path = await folder.existingPath(callersPath)
  return journal.withPaths([path], signal, async () => {
    const before = await files.readFile(path, { maxBytes: maxFileBytes, signal })
    const text = toText(before.bytes, path)
    const rewritten = await rewrite(folder, path, text, context)
    if (rewritten === text) return { ok: true, changed: false }
    const bytes = Buffer.from(rewritten)
    const after = { bytes, sha256: hash('sha256', bytes), mode: undefined }
    const changes = [{ path, before, after }]
    const notes = unsavedNotes(changes)
    const diff = await diffOf(before.bytes, bytes, path, signal)
    await authorize({ writes: [path], diff, ...(notes.length > 0 && { notes }) })
    return { ok: true, changed: true, id: await journal.commit(changes, { signal }) }
  })
}

/** Returns the text of a file, or undefined if it is missing or unreadable. */
export async function readIfThere(folder: Folder, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await folder.readStart(path, { maxBytes: 256 * 1024, signal })).bytes.toString()
  } catch (error) {
    if (error instanceof ToolError && (error.failure.kind === 'failed' || error.failure.kind === 'denied'))
      return undefined
    throw error
  }
}

/** More than projects of people have. Each folder takes dozens of attempts to read a file. */
const maxDepth = 32

/** Returns the folders that may have configuration for a file, from its own up to the root. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1).slice(0, maxDepth)
  return [...parts.keys(), parts.length].map((count) => parts.slice(0, count).join('/')).toReversed()
}

export function inFolder(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Returns the program `name` in the first of `places` that has it. */
export async function findProgram(
  folder: Folder,
  path: string,
  name: string,
  places: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const outer of foldersOf(path)) {
    const program = inFolder(outer, `${places}/${name}`)
    if ((await readIfThere(folder, program, signal)) !== undefined) return program
  }
  return undefined
}
