import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { text } from 'node:stream/consumers'
import { formatText } from '../../src/workspace/format/format-file.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { organizeText } from '../../src/workspace/organize-imports/organize-imports.ts'
import { openJournal } from '../../src/workspace/patch/journal.ts'
import { rewriteFile, type RewriteContext } from '../../src/workspace/run-filter.ts'
import type { Folder } from '../../src/workspace/folder.ts'
import { createTree } from './tree.ts'

type File = { readonly path: string }

export const formatFile = (folder: Folder, file: File, context: RewriteContext) =>
  rewriteFile(folder, file, context, formatText)

export const organizeImports = (folder: Folder, file: File, context: RewriteContext) =>
  rewriteFile(folder, file, context, organizeText)

type Intent = Parameters<RewriteContext['authorize']>[0]

/** Creates a workspace with files, and a context that really runs programs. Scripts run with the Node.js of the test. */
export async function createRewriting(files: Readonly<Record<string, string>>) {
  const { root, outside } = await createTree()
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  const intents: Intent[] = []
  const runs: (readonly string[])[] = []
  const folder = await openFolder(root)
  const journal = await openJournal({ folder, dir: join(dirname(root), 'journal'), now: Date.now })
  const context: RewriteContext = {
    files: folder,
    journal,
    authorize: async (intent) => void intents.push(intent),
    signal: new AbortController().signal,
    maxFileBytes: 4 * 1024 * 1024,
    run: async (argv, { stdin, signal }) => {
      runs.push(argv)
      const child = spawn(execPath, [...argv], { cwd: root, signal, env: {} })
      child.stdin.end(stdin)
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { exitCode: child.exitCode, stdout, stderr, truncated: false }
    },
  }
  const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8')
  return { root, outside, folder, journal, context, intents, runs, read }
}
