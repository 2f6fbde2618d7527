import * as nodeFs from 'node:fs/promises'
import type { RecordFs } from '../auth/record-fs.ts'

/**
 * The files as they are, for a store that is only to be looked into: reading one with a loose mode does not tighten it,
 * and one that is not usable stays where it is.
 */
export const readOnlyFs: RecordFs = {
  ...nodeFs,
  async open(path, flags) {
    const file = await nodeFs.open(path, flags)
    file.chmod = unchanged
    return file
  },
  chmod: unchanged,
  link: refused,
  mkdir: refused,
  rename: refused,
  unlink: refused,
}

function unchanged(): Promise<void> {
  return Promise.resolve()
}

function refused(): Promise<never> {
  return Promise.reject(Object.assign(new Error('Nothing is changed here'), { code: 'EROFS' }))
}
