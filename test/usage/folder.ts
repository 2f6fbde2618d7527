import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file that is not there yet, in a folder of this test's own. */
export async function newFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'copilot-proxy-usage-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'data', 'usage.sqlite')
}
