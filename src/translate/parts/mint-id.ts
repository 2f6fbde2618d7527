/**
 * An id for a part of a reply, where upstream sends none that a caller can use: unique among replies as the seed is,
 * at most 64 characters, only letters, digits and underscores. `index` tells parts of one reply apart.
 */
export function mintId(prefix: string, seedId: string, index: number): string {
  const root = seedId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-40)
  return `${prefix}_${root}${index === 0 ? '' : `_${index}`}`
}
