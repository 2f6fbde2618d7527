// Reads own files of the program through bind mounts. Argument: a folder with `own/a.txt`, `own.txt` and the workspace `root`.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { createOwnPlaces } from '../../../src/workspace/policy/own-places.ts'
import { searchCode } from '../../../src/workspace/search-code.ts'

const [, , base = ''] = process.argv
const root = join(base, 'root')
for (const [source, target] of [
  ['own', 'root/folder'],
  ['own.txt', 'root/file.txt'],
] as const) {
  execFileSync('mount', ['--bind', join(base, source), join(base, target)])
}
const ownPlaces = createOwnPlaces({ folders: [join(base, 'own')], files: [join(base, 'own.txt')] })
const folder = await openFolder(root, { ownPlaces })
const read = async (path: string): Promise<string> => {
  try {
    return (await folder.readFile(path, { maxBytes: 1000 })).bytes.toString()
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}
const { hits, truncated } = await searchCode(folder, { query: 'text' }, new AbortController().signal)
const found = hits.map(({ file }) => file)
const texts = [await read('folder/a.txt'), await read('file.txt'), await read('honest.txt')]
process.stdout.write(JSON.stringify({ texts, found, truncated }))
