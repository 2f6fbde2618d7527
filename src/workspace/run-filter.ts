import type { Folder } from './folder.ts'
import { diffOf } from './patch/render-diff.ts'
import { readText, type Text } from './read-text.ts'
import { ToolError } from './tool-error.ts'

/** Runs a program in the root of the workspace, without a shell, and gives it a text on its standard input. */
type RunCommand = (
  argv: readonly string[],
  options: { readonly stdin: string; readonly signal: AbortSignal },
) => Promise<{
  /** Null: it was ended by a signal. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Whether the output was cut. */
  readonly truncated: boolean
}>

export interface RewriteContext {
  /** @throws ToolError */
  readonly authorize: (intent: {
    readonly argv?: readonly string[]
    readonly cwd?: string
    readonly writes?: readonly string[]
    readonly diff?: string
  }) => Promise<void>
  readonly signal: AbortSignal
  readonly maxFileBytes: number
  readonly run: RunCommand
}

export interface RewriteResult {
  readonly ok: true
  /** Whether the file has other bytes now. */
  readonly changed: boolean
}

/** A program that reads a text and writes what becomes of it. */
export interface Filter {
  /** The words that the policy must allow: those that are the same for every file. */
  readonly words: readonly string[]
  /** Whether the path of the file is added as the last word. */
  readonly takesPath: boolean
}

/** Of a program's complaint in our message. Characters. */
const maxComplaint = 500

/** A file's whole text. @throws ToolError as `readText`; `too_large` */
export async function readWhole(
  folder: Folder,
  path: string,
  { signal, maxFileBytes }: RewriteContext,
): Promise<Text & { readonly sha256: string }> {
  const text = await readText(folder, { path }, { maxBytes: maxFileBytes, signal })
  const { sha256 } = text
  if (text.truncated || sha256 === undefined) {
    const detail = `${JSON.stringify(path)} has ${text.size} bytes, more than the limit of ${maxFileBytes}.`
    throw new ToolError({ kind: 'too_large', detail })
  }
  return { ...text, sha256 }
}

/** The text that a program makes of a text. @throws ToolError as `authorize`; `failed` */
export async function runFilter(
  { words, takesPath }: Filter,
  path: string,
  text: string,
  { authorize, run, signal }: RewriteContext,
): Promise<string> {
  const [program = ''] = words
  await authorize({ argv: words, cwd: '' })
  // `./` keeps a name such as `--config=x.js` from being an option.
  const argv = takesPath ? [...words, `./${path}`] : words
  const { exitCode, stdout, stderr, truncated } = await run(argv, { stdin: text, signal })
  if (exitCode !== 0) {
    const complaint = stderr.trim().slice(0, maxComplaint)
    throw failed(`${program} failed${exitCode === null ? '' : ` with exit code ${exitCode}`}: ${complaint}`)
  }
  if (truncated) throw failed(`The output of ${program} is too large. The file was left as it is.`)
  if (stdout === '' && text.trim() !== '') throw failed(`${program} gave no output. The file was left as it is.`)
  return stdout
}

/** Writes a new text of a file that still has the old one. @throws ToolError as `authorize` and `Folder.writeFile` */
export async function writeRewritten(
  folder: Folder,
  path: string,
  before: { readonly content: string; readonly sha256: string },
  after: string,
  { authorize, signal }: RewriteContext,
): Promise<RewriteResult> {
  if (before.content === after) return { ok: true, changed: false }
  const bytes = Buffer.from(after)
  await authorize({ writes: [path], diff: await diffOf(Buffer.from(before.content), bytes, path, signal) })
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  await folder.writeFile(path, bytes, { ifSha256: before.sha256 })
  return { ok: true, changed: true }
}

/** The text of a file that need not exist; undefined without one that can be read. */
export async function readIfThere(folder: Folder, path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await folder.readStart(path, { maxBytes: 256 * 1024, signal })).bytes.toString()
  } catch (error) {
    if (error instanceof ToolError && (error.failure.kind === 'failed' || error.failure.kind === 'denied'))
      return undefined
    throw error
  }
}

/** The folders from a file's own to the root. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1)
  return [...parts.keys(), parts.length].map((count) => parts.slice(0, count).join('/')).toReversed()
}

export function inFolder(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** The program `name` in the first of `places` that has it. */
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

function failed(detail: string): ToolError {
  return new ToolError({ kind: 'failed', detail })
}
