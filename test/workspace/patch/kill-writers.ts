import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'rolldown'
import { expect } from 'vitest'
import { diffOf } from '../../../src/workspace/patch/render-diff.ts'
import { openWorkspace, type Tree } from './support.ts'

const toBuffer = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text))

/** Creates a patch with three kinds of changes to files that take a while to write. */
async function manyFiles(): Promise<{ readonly old: Tree; readonly changed: Tree; readonly patch: string }> {
  const line = 'some text that fills the file\n'
  const old: Record<string, string> = {}
  const changed: Record<string, string> = {}
  let patch = ''
  for (let index = 0; index < 12; index += 1) {
    const path = `dir/${index}.txt`
    const bytes = `first\n${line.repeat(200)}`
    if (index % 4 !== 0) old[path] = bytes
    if (index % 4 !== 1) changed[path] = bytes.replace('first', 'second')
    patch += await diffOf(toBuffer(old[path]), toBuffer(changed[path]), path)
  }
  return { old, changed, patch }
}

/** Kills processes that apply and undo a patch. Each time, all files must be complete, and all old or all new. */
export async function killWriters(times: number): Promise<void> {
  const { old, changed, patch } = await manyFiles()
  const workspace = await openWorkspace(old)
  const patchFile = join(workspace.journalDir, '..', 'patch.diff')
  await writeFile(patchFile, patch)
  const oldTree = await workspace.tree()
  const newTree = await (await openWorkspace(changed)).tree()
  // A bundle starts several times as fast as the sources.
  const child = join(workspace.root, '..', 'apply-and-undo.mjs')
  await build({
    input: join(import.meta.dirname, 'children/apply-and-undo.ts'),
    platform: 'node',
    output: { file: child, minify: true },
    logLevel: 'silent',
  })
  let interrupted = 0
  const seen = { old: 0, new: 0 }

  const killOnce = async (afterWrites: number): Promise<void> => {
    const args = [child, workspace.root, workspace.journalDir, patchFile]
    const running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(running, 'exit')
    let writes = 0
    running.stdout.on('data', (dots: Buffer) => {
      writes += dots.length
      if (writes >= afterWrites) running.kill('SIGKILL')
    })
    await ended
    // No file may be incomplete even before the recovery, except temporary files of the killed writer.
    for (const [path, bytes] of Object.entries(await workspace.tree())) {
      if (!path.endsWith('.tmp')) expect([oldTree[path], newTree[path]]).toContain(bytes)
    }
    const before = workspace.recoveries.length
    await workspace.openAgain()
    const recoveries = workspace.recoveries.slice(before)
    interrupted += recoveries.length
    expect(recoveries.flatMap(({ left }) => left)).toEqual([])
    const tree = Object.fromEntries(Object.entries(await workspace.tree()).filter(([path]) => !path.endsWith('.tmp')))
    const isNew = tree['dir/0.txt'] !== undefined
    seen[isNew ? 'new' : 'old'] += 1
    expect(tree).toEqual(isNew ? newTree : oldTree)
    if (!isNew) return
    // If the killed process was undoing the change, an undo has to name it.
    const [last] = (await workspace.deps.journal.entries()).toReversed()
    await workspace.undo({ id: last?.id })
  }

  // The kills happen at each file of an apply and of the undo after it.
  for (let run = 0; run < times; run += 1) await killOnce(1 + ((run * 2 + (run % 24 < 12 ? 0 : 1)) % 24))
  await workspace.openAgain()
  const names = await readdir(workspace.journalDir)
  expect(names.filter((name) => !/\.(?:done|rolled-back|bytes)$/.test(name))).toEqual([])
  expect(interrupted).toBeGreaterThan(times / 2)
  expect(seen.new + seen.old).toBe(times)
}
