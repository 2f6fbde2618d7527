import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, isSeq, parseDocument, YAMLMap, YAMLSeq } from 'yaml'
import { valueAt, withValue } from './settings-tree.ts'
import { readYaml } from './yaml-document.ts'

const path = ['server', 'api-keys'] as const

/** The entries of `server.api-keys` as they stand in a configuration file. */
export function apiKeysOf(text: string): readonly unknown[] {
  const read = readYaml(text)
  const entries = read.ok ? valueAt(read.value.value, path) : undefined
  return Array.isArray(entries) ? entries : []
}

/** The file's text with one entry more; undefined where that cannot be done without touching anything else. */
export function addApiKey(text: string, entry: string): string | undefined {
  return edited(text, [...apiKeysOf(text), entry], (keys) => keys.add(entry))
}

/** The file's text without one of its entries; undefined as above. */
export function removeApiKey(text: string, index: number): string | undefined {
  return edited(text, apiKeysOf(text).toSpliced(index, 1), (keys) => keys.delete(index))
}

/** Comments, order and all other settings stay. */
function edited(text: string, wanted: readonly unknown[], edit: (keys: YAMLSeq) => void): string | undefined {
  const before = readYaml(text)
  if (!before.ok) return undefined
  const document = parseDocument(text, { schema: 'core', resolveKnownTags: false, logLevel: 'error' })
  const keys = listIn(document)
  if (keys === undefined) return undefined
  edit(keys)
  const result = textOf(document, text)
  if (result === undefined) return undefined
  // Proof that nothing else has changed, whatever the library made of the text.
  const after = readYaml(result)
  const expected = withValue(before.value.value ?? {}, path, wanted)
  if (!after.ok || !isDeepStrictEqual(after.value.value, expected)) return undefined
  return text.includes('\r\n') ? result.replaceAll('\n', '\r\n') : result
}

/** Undefined where an alias has lost its anchor with what was removed, for which the library throws. */
function textOf(document: Document, before: string): string | undefined {
  try {
    // As the file has it: { a: 1 } or {a: 1}.
    return document.toString({ lineWidth: 0, flowCollectionPadding: / [\]}]/.test(before) })
  } catch {
    return undefined
  }
}

/** The node of the list, put in where there is none yet; undefined where something else is in its place. */
function listIn(document: Document): YAMLSeq | undefined {
  document.contents ??= new YAMLMap()
  const root = document.contents
  if (!isMap(root)) return undefined
  const server = childOf(root, 'server', () => new YAMLMap())
  if (!isMap(server)) return undefined
  const keys = childOf(server, 'api-keys', () => new YAMLSeq())
  if (!isSeq(keys)) return undefined
  // `[]` is written out line by line as soon as it holds something, unless it stands within braces.
  if (keys.items.length === 0) keys.flow = server.flow === true
  return keys
}

function childOf(parent: YAMLMap, key: string, create: () => YAMLMap | YAMLSeq): unknown {
  const present = parent.get(key, true)
  if (present !== undefined && !(isScalar(present) && present.value === null)) return present
  const child = create()
  // Where a key has nothing behind it, the comments after it are those of the nothing.
  if (present?.comment) child.commentBefore = present.comment
  parent.set(key, child)
  return child
}
