import { errnoOf } from '../auth/records/record-fs.ts'
import { LinkFound } from './directory.ts'
import { failed, quote, ToolError } from './tool-error.ts'

/** Converts an error of the file system to a ToolError. Its text contains only the caller's path. */
export function describeError(error: unknown, path: string): unknown {
  if (error instanceof ToolError) return error
  if (error instanceof LinkFound) {
    const link = [...error.folder, error.link].filter((segment) => segment !== '').join('/')
    const detail = `${quote(path)} cannot be changed: ${quote(link)} is a link. Use the path of the file itself.`
    return new ToolError({ kind: 'denied', detail }, { cause: error })
  }
  const detail = sentenceOf(errnoOf(error), quote(path))
  return detail === undefined ? error : failed(detail, error)
}

function sentenceOf(code: string, path: string): string | undefined {
  switch (code) {
    case '':
      return undefined
    case 'ENOENT':
      return `${path} does not exist.`
    case 'EACCES':
    case 'EPERM':
      return `Permission to access ${path} was denied.`
    case 'EISDIR':
      return `${path} is a folder.`
    case 'ENOTDIR':
      return `${path} does not exist: a part of the path is a file.`
    case 'ENXIO':
    case 'ENODEV':
    case 'EOPNOTSUPP':
      return `${path} is not a regular file.`
    case 'ENAMETOOLONG':
      return `${path} is too long for a file name.`
    case 'ENOSPC':
    case 'EDQUOT':
      return `${path} was not written: no space is left on the disk.`
    case 'EROFS':
      return `${path} was not written: the file system is read-only.`
    default:
      return `${path} could not be accessed (${code}).`
  }
}
