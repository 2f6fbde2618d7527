// The page and editors describe a call in the same words.
import { parsePatch } from './diff-lines.js'

/**
 * Returns the subject of a call, e.g. its path or command.
 * @param {unknown} args
 * @returns {string}
 */
export function subjectOf(args) {
  if (typeof args !== 'object' || args === null) return ''
  /** @type {Record<string, unknown>} */
  const { path, argv, cmd, name, query, glob, unifiedDiff } = { ...args }
  if (Array.isArray(argv)) return argv.join(' ')
  if (typeof unifiedDiff === 'string')
    return parsePatch(unifiedDiff)
      .map((file) => file.path)
      .join(', ')
  return [query, path ?? glob ?? cmd ?? name].filter((value) => typeof value === 'string').join(' in ')
}
