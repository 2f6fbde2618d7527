import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { z } from 'zod'
import type { Session } from '../tools/session.ts'
import type { SecretRecord, Tools } from '../tools/tool.ts'
import type { OpenFiles } from '../workspace/open-files.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { AgentEvent } from './agent-event.ts'
import { frame, instructionsTitle } from './prompts.ts'
import type { Scope } from './scope.ts'

export interface InstructionFilesDeps {
  readonly tools: Pick<Tools, 'call'>
  readonly session: Session
  readonly scope: Scope
  readonly caller: string
  readonly ownerId: string | undefined
  readonly openFiles: OpenFiles | undefined
  readonly boundary: string
  /** Maximum length of one file in the context. Characters. */
  readonly maxLength: number
  /** SHA-256 of the files that earlier runs of the session have used, by path. */
  readonly known: ReadonlyMap<string, string>
  readonly secrets: SecretRecord
  readonly emit: (event: AgentEvent) => void
}

/** The files of a workspace that tell agents about it. Their text is part of the context, and never a permission. */
export interface InstructionFiles {
  /** Returns the framed text of the file in the root; '' if there is none. */
  readonly ofRoot: (signal: AbortSignal) => Promise<string>
  /** Returns the framed texts of the files in the folders of these paths that the context does not have yet. */
  readonly ofFolders: (paths: readonly string[], signal: AbortSignal) => Promise<string>
  /** Forgets which folders the context has. Called after a summary has replaced a part of it. */
  readonly forgetFolders: () => void
}

/** The names of the files. A folder is described by the first one that it has. */
const names = ['AGENTS.md', 'CLAUDE.md'] as const

/** Maximum number of files of folders in the context. */
const maxFiles = 20

const textOfFile = z.object({ content: z.string(), truncated: z.boolean() })

export function createInstructionFiles(deps: InstructionFilesDeps): InstructionFiles {
  const { session, scope, emit } = deps
  const folders = new Set<string>()
  const announced = new Set<string>()
  let count = 0

  async function find(folder: string): Promise<string | undefined> {
    for (const name of names) {
      const path = posix.join(folder, name)
      // Without this look, each missing file would be a failed call in the audit log. The read below follows no link out of the
      // workspace.
      const found = await lstat(join(session.folder.root, path)).catch(() => undefined)
      if (found?.isFile() === true || found?.isSymbolicLink() === true) return path
    }
    return undefined
  }

  /** Reads as the model does: with the same rules, and without asking for a secret. */
  async function read(path: string, signal: AbortSignal): Promise<z.infer<typeof textOfFile>> {
    const tool = 'mcp.fs.read'
    const { caller, ownerId, openFiles, secrets } = deps
    const args = await scope.narrow(tool, { path }, signal)
    const call = { session, name: tool, args, signal, caller, ownerId, openFiles, secrets }
    return textOfFile.parse(await deps.tools.call(call))
  }

  async function load(folder: string, signal: AbortSignal): Promise<string> {
    const path = await find(folder)
    if (path === undefined) return ''
    try {
      const { content, truncated } = await read(path, signal)
      return content.trim() === '' ? '' : use(folder, path, content, truncated)
    } catch (error) {
      if (!(error instanceof ToolError) || signal.aborted) return ''
      announce(path, { type: 'fragment', kind: 'notice', text: `${path} is not used: ${error.message}` })
      return ''
    }
  }

  function use(folder: string, path: string, content: string, isStart: boolean): string {
    const isCut = isStart || content.length > deps.maxLength
    const text = isCut ? startOf(content, deps.maxLength) : content
    const sha256 = createHash('sha256').update(text).digest('hex')
    const before = deps.known.get(path)
    const state = before === undefined ? 'new' : before === sha256 ? 'unchanged' : 'changed'
    announce(path, { type: 'instructions', path, sha256, state, ...(isCut && { truncated: true }) })
    const place = folder === '' ? 'the workspace' : `files in ${JSON.stringify(folder)}`
    const rest = isCut ? '\n(The file is longer: this is its start.)' : ''
    return frame(deps.boundary, `${instructionsTitle} ${JSON.stringify(path)}, for ${place}`, text + rest)
  }

  /** A file that is read again after a summary is no news. */
  function announce(path: string, event: AgentEvent): void {
    if (announced.has(path)) return
    announced.add(path)
    emit(event)
  }

  return {
    ofRoot: (signal) => load('', signal),
    async ofFolders(paths, signal) {
      const texts: string[] = []
      for (const folder of new Set(paths.flatMap(foldersOf))) {
        if (folders.has(folder) || count >= maxFiles) continue
        folders.add(folder)
        const text = await load(folder, signal)
        if (text === '') continue
        texts.push(text)
        count += 1
      }
      return texts.join('\n\n')
    },
    forgetFolders() {
      folders.clear()
      count = 0
    },
  }
}

/** The folders of a path below the root, outermost first. */
function foldersOf(path: string): readonly string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, at) => segments.slice(0, at + 1).join('/'))
}

/** Ends with a whole line where that costs little. */
function startOf(text: string, length: number): string {
  const start = text.slice(0, length)
  const end = start.lastIndexOf('\n')
  return end > length / 2 ? start.slice(0, end) : start.toWellFormed()
}
