import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Folder } from '../../../src/workspace/folder.ts'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import {
  applyPatch,
  type ApplyPatchContext,
  type PatchContext,
  type PatchDeps,
} from '../../../src/workspace/patch/apply-patch.ts'
import { openJournal, type JournalLimits, type Recovery } from '../../../src/workspace/patch/journal.ts'
import { replaceText } from '../../../src/workspace/patch/replace-text.ts'
import { undoChanges } from '../../../src/workspace/patch/undo-changes.ts'

/** Files by path. Strings are written as UTF-8. */
export type Tree = Readonly<Record<string, string | Buffer>>

export const allow: ApplyPatchContext = {
  authorize: async () => {},
  permit: async () => {},
  signal: new AbortController().signal,
  format: async (_path, text) => text,
}

/** Opens a workspace and its journal in a temporary folder. */
export async function openWorkspace(
  tree: Tree = {},
  options: { readonly folder?: (plain: Folder) => Folder; readonly limits?: JournalLimits } = {},
) {
  const base = await mkdtemp(join(tmpdir(), 'patch-'))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const root = join(base, 'root')
  const journalDir = join(base, 'data', 'journal')
  await mkdir(root)
  for (const [path, bytes] of Object.entries(tree)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), bytes)
  }
  const plain = await openFolder(root)
  const folder = options.folder?.(plain) ?? plain
  const recoveries: Recovery[] = []
  const openAgain = () =>
    openJournal(
      { folder, dir: journalDir, now: Date.now, onRecovery: (recovery) => recoveries.push(recovery) },
      options.limits,
    )
  const deps: PatchDeps = { folder, journal: await openAgain(), maxFileBytes: 4 * 1024 * 1024 }
  return {
    root,
    journalDir,
    deps,
    openAgain,
    /** The rollbacks of interrupted changes so far. */
    recoveries,
    apply: (unifiedDiff: string, args: Partial<Parameters<typeof applyPatch>[1]> = {}, context: PatchContext = allow) =>
      applyPatch(deps, { unifiedDiff, ...args }, { ...allow, ...context }),
    replace: (
      path: string,
      oldText: string,
      newText: string,
      args: Partial<Parameters<typeof replaceText>[1]> = {},
      context: PatchContext = allow,
    ) => replaceText(deps, { path, oldText, newText, ...args }, { ...allow, ...context }),
    undo: (args: Parameters<typeof undoChanges>[1] = {}, context: PatchContext = allow) =>
      undoChanges(deps, args, context),
    tree: () => readTree(root),
    text: (path: string) => readFile(join(root, path), 'utf8'),
    write: (path: string, bytes: string | Buffer) => writeFile(join(root, path), bytes),
    mode: async (path: string) => (await stat(join(root, path))).mode & 0o777,
    chmod: (path: string, mode: number) => chmod(join(root, path), mode),
  }
}

/** Returns the bytes of each file, one character per byte, and its mode. */
async function readTree(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const tree: Record<string, string> = {}
  for (const entry of entries.filter((each) => each.isFile())) {
    const full = join(entry.parentPath, entry.name)
    tree[full.slice(root.length + 1)] = `${(await stat(full)).mode.toString(8)} ${await readFile(full, 'latin1')}`
  }
  return tree
}

/** Counts the turns of the event loop during a call. */
export async function turnsDuring(call: Promise<unknown>): Promise<number> {
  const controller = new AbortController()
  const end = (): void => controller.abort()
  void call.then(end, end)
  let turns = 0
  for (; !controller.signal.aborted; turns += 1) await setImmediate()
  return turns
}
