import { readdir } from 'node:fs/promises'
import { errnoOf } from '../auth/records/record-fs.ts'
import { LinkFound, openDirectory } from './directory.ts'
import { hasHiddenCharacter } from './paths.ts'
import { denied, quote } from './tool-error.ts'

/**
 * Returns the path under which a file exists: as given, or else the only one that is equal in Unicode normal form C, because macOS
 * writes names in form D and models write form C. A part that does not exist stays as it is. Follows no link.
 * @param path the normal form of a path, relative to the root
 * @throws ToolError `denied` for a new name that looks like another one, and for one that is equal to several names
 */
export async function existingPath(root: string, path: string, held: boolean): Promise<string> {
  if (isAscii(path)) return path
  const given = path.split('/')
  const found: string[] = []
  for (const [index, name] of given.entries()) {
    if (isAscii(name)) {
      found.push(name)
      continue
    }
    const names = await namesIn(root, found, held)
    // The part of a path behind a link is sought when the link has been followed.
    if (names === undefined) return [...found, ...given.slice(index)].join('/')
    found.push(names.includes(name) ? name : equalName(name, names, path))
  }
  return found.join('/')
}

function equalName(name: string, names: readonly string[], path: string): string {
  const normal = name.normalize('NFC')
  const equal = names.filter((each) => !isAscii(each) && each.normalize('NFC') === normal)
  const [only, other] = equal
  if (other !== undefined) {
    throw denied(`The path ${quote(path)} names ${equal.length} files that differ only in their Unicode form.`)
  }
  if (only !== undefined) return only
  if (hasHiddenCharacter(name))
    throw denied(`The path ${quote(path)} does not exist and contains an invisible character.`)
  if (name !== normal) throw denied(`The path ${quote(path)} does not exist and is not in Unicode normal form C.`)
  return name
}

/** Returns undefined if a folder of the path is a link. */
async function namesIn(root: string, folder: readonly string[], held: boolean): Promise<readonly string[] | undefined> {
  try {
    const directory = await openDirectory(root, folder, { held, create: false })
    try {
      return await readdir(directory.entry('.'))
    } finally {
      await directory.close()
    }
  } catch (error) {
    if (error instanceof LinkFound) return undefined
    if (errnoOf(error) === '') throw error
    return []
  }
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  return /^[\0-\x7f]*$/.test(text)
}
