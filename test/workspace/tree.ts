import { mkdtemp, mkdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ToolError, type ToolFailure } from '../../src/workspace/tool-error.ts'

/** Creates a folder with a workspace `root` and an empty folder `outside`. It is removed after the test. */
export async function createTree(): Promise<{ readonly root: string; readonly outside: string }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'workspace-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const tree = { root: join(base, 'root'), outside: join(base, 'outside') }
  await mkdir(tree.root)
  await mkdir(tree.outside)
  return tree
}

/** Returns the failure of a call. */
export async function failureOf(call: Promise<unknown>): Promise<ToolFailure> {
  try {
    await call
  } catch (error) {
    if (error instanceof ToolError) return error.failure
    throw error
  }
  throw new Error('The call succeeded.')
}
