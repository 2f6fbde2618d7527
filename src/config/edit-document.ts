import { isDeepStrictEqual } from 'node:util'
import { Document, isCollection, isMap, isNode, isScalar, parseDocument, YAMLMap } from 'yaml'
import type { YAMLSeq } from 'yaml'
import { isObject } from '../json/json.ts'
import { valueAt } from '../json/value-at.ts'
import { withoutValue, withValue } from './settings-tree.ts'
import { readYaml } from './yaml-document.ts'

/**
 * Edits the text of a configuration file. Comments, order and all other settings stay.
 * @param path of the setting
 * @param wanted its value after the edit; undefined if the edit removes it
 * @param edit returns false if the file has an unsuitable structure
 * @returns undefined if the edit would change anything else
 */
export function editDocument(
  text: string,
  path: readonly string[],
  wanted: unknown,
  edit: (root: YAMLMap) => boolean,
): string | undefined {
  const before = readYaml(text)
  if (!before.ok) return undefined
  const document: Document = parseDocument(text, { schema: 'core', resolveKnownTags: false, logLevel: 'error' })
  document.contents ??= new YAMLMap()
  const root = document.contents
  if (!isMap(root) || !edit(root)) return undefined
  const result = textOf(document, text)
  if (result === undefined) return undefined
  // Verify that the library has changed nothing else.
  const after = readYaml(result)
  const tree = before.value.value ?? {}
  const expected = wanted === undefined ? withoutValue(tree, path) : withValue(tree, path, wanted)
  if (!after.ok || !isDeepStrictEqual(after.value.value, expected)) return undefined
  return text.includes('\r\n') ? result.replaceAll('\n', '\r\n') : result
}

/** Undefined if a removal has left an alias without its anchor, for which the library throws. */
function textOf(document: Document, before: string): string | undefined {
  try {
    // The padding of the file: { a: 1 } or {a: 1}.
    return document.toString({ lineWidth: 0, flowCollectionPadding: / [\]}]/.test(before) })
  } catch {
    return undefined
  }
}

/** The value of a key, created if it is missing or empty. */
export function childOf(parent: YAMLMap, key: string, create: () => YAMLMap | YAMLSeq): unknown {
  const present = parent.get(key, true)
  if (present !== undefined && !(isScalar(present) && present.value === null)) return present
  const child = create()
  // The comments after an empty value belong to its null node.
  if (present?.comment) child.commentBefore = present.comment
  parent.set(key, child)
  return child
}

/** Sets one value in the text of a configuration file. Undefined as for `editDocument`. */
export function setInDocument(text: string, path: readonly string[], value: unknown): string | undefined {
  return editDocument(text, path, value, (root) => {
    let parent = root
    for (const key of path.slice(0, -1)) {
      const child = childOf(parent, key, () => new YAMLMap())
      if (!isMap(child)) return false
      // `{}` becomes a block when it gets an entry, unless it is inside braces.
      if (child.items.length === 0) child.flow = parent.flow === true
      parent = child
    }
    const key = path.at(-1) ?? ''
    const old: unknown = parent.get(key, true)
    const node = new Document(value).contents
    if (isCollection(node)) node.flow = true
    if (isNode(old) && node !== null) {
      node.comment = old.comment ?? null
      node.commentBefore = old.commentBefore ?? null
    }
    parent.set(key, node)
    return true
  })
}

/** Removes a value, and the tables around it that hold nothing else. Undefined as for `editDocument`, or if there is no value. */
export function unsetInDocument(text: string, path: readonly string[]): string | undefined {
  const read = readYaml(text)
  const tree = read.ok ? read.value.value : undefined
  if (valueAt(tree, path) === undefined) return undefined
  let end = path.length
  while (end > 1 && holdsOne(valueAt(tree, path.slice(0, end - 1)))) end -= 1
  const removed = path.slice(0, end)
  return editDocument(text, removed, undefined, (root) => root.deleteIn(removed))
}

function holdsOne(table: unknown): boolean {
  return isObject(table) && Object.keys(table).length === 1
}

/** The path of a setting as the file writes it: keys of some tables are case-insensitive. Undefined if the file has no value for it. */
export function writtenPath(text: string, path: readonly string[]): readonly string[] | undefined {
  const read = readYaml(text)
  let value: unknown = read.ok ? read.value.value : undefined
  const written: string[] = []
  for (const step of path) {
    const keys = isObject(value) ? Object.keys(value) : []
    const key = keys.find((each) => each === step) ?? keys.find((each) => each.toLowerCase() === step)
    if (key === undefined) return undefined
    written.push(key)
    value = valueAt(value, [key])
  }
  return written
}
