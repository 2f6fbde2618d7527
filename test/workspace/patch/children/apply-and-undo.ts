// Applies a patch to a workspace and undoes it, again and again, until the test kills it. Arguments: folder, journal, patch.
// Prints a dot before each file that it writes or removes.
import { writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Folder } from '../../../../src/workspace/folder.ts'
import { openFolder } from '../../../../src/workspace/open-folder.ts'
import { applyPatch } from '../../../../src/workspace/patch/apply-patch.ts'
import { undoChanges } from '../../../../src/workspace/patch/undo-changes.ts'
import { openJournal } from '../../../../src/workspace/patch/journal.ts'

const [, , root = '', dir = '', patchFile = ''] = process.argv
const plain = await openFolder(root)
const folder: Folder = {
  ...plain,
  writeFile: (...args) => {
    writeSync(1, '.')
    return plain.writeFile(...args)
  },
  removeFile: (...args) => {
    writeSync(1, '.')
    return plain.removeFile(...args)
  },
}
const unifiedDiff = await readFile(patchFile, 'utf8')
const limits = { maxEntries: 5, maxBytes: 1_000_000 }
const deps = { folder, journal: await openJournal({ folder, dir, now: Date.now }, limits), maxFileBytes: 1_000_000 }
const context = {
  authorize: async () => {},
  permit: async () => {},
  signal: new AbortController().signal,
  format: async (_path: string, text: string) => text,
}
for (;;) {
  await applyPatch(deps, { unifiedDiff }, context)
  await undoChanges(deps, {}, context)
}
