/** The value at a path of keys and positions in a JSON tree; undefined if the path leaves the tree. */
export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isThere ? Reflect.get(value, key) : undefined
  }, tree)
}
