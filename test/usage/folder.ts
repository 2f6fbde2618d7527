import { join } from 'node:path'
import { makeFolder } from '../tools/session.ts'

/** A file that is not there yet, in a folder of this test's own. */
export async function newFile(): Promise<string> {
  const folder = await makeFolder()
  return join(folder, 'data', 'usage.sqlite')
}
