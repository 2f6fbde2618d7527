import type { z } from 'zod'
import { nearMatch } from './near-match.ts'
import { sectionShape, type SettingLeaf } from './setting-leaves.ts'
import { valueAt } from './settings-tree.ts'

/** A fault the schema found: where, and in what words. */
export interface SettingFault {
  readonly path: readonly PropertyKey[]
  /** Whether the key itself is at fault or the value behind it. */
  readonly part: 'key' | 'value'
  readonly detail: string
}

/** More faults than anyone reads at once; each takes a search for its place and for what was meant. */
const maxFaults = 50

/** Longest piece of a user's value that an error repeats. Characters. */
const maxShown = 40

/** User name, password and query of something that looks like a URL. */
const privatePartsOfUrl = /(?<=:\/\/)[^/]*@|[?#].*$/gs

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return 'a table'
  const safe = value.replaceAll(privatePartsOfUrl, '…')
  return JSON.stringify(safe.length > maxShown ? `${safe.slice(0, maxShown)}…` : safe)
}

/** `server` holds `port`: a `port` elsewhere was meant as `server.port`. */
function didYouMean(key: string, siblings: readonly string[], leaves: readonly SettingLeaf[]): string {
  const meant = nearMatch(key, siblings) ?? leaves.find(({ path }) => path.at(-1) === key)?.key
  return meant === undefined ? '' : `, did you mean \`${meant}\`?`
}

function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const [key, ...rest] = path
  const shape = sectionShape(schema) ?? {}
  if (key === undefined) return Object.keys(shape)
  const inner = shape[String(key)]
  return inner === undefined ? [] : keysAt(inner, rest)
}

function isSecret(path: readonly PropertyKey[], leaves: readonly SettingLeaf[]): boolean {
  return leaves.some((leaf) => leaf.secret && leaf.path.every((step, index) => path[index] === step))
}

/** The first faults of `tree` in words, one for each place, from the issues that `schema` reported. */
export function settingFaults(
  issues: readonly z.core.$ZodIssue[],
  tree: unknown,
  schema: z.ZodType,
  leaves: readonly SettingLeaf[],
): readonly SettingFault[] {
  const faults = issues.slice(0, maxFaults).flatMap((issue): SettingFault[] => {
    const { path } = issue
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.slice(0, maxFaults).map((key) => ({
          path: [...path, key],
          part: 'key',
          detail: `unknown key \`${key}\`${didYouMean(key, keysAt(schema, path), leaves)}`,
        }))
      case 'invalid_key':
        return [{ path, part: 'key', detail: issue.issues[0]?.message ?? 'this key is not allowed' }]
      case 'custom':
        return [{ path, part: 'value', detail: issue.message }]
      default: {
        // A value of a wrong type, such as a key made of digits, is as secret as a good one.
        const found = isSecret(path, leaves) ? '' : `, got ${shown(valueAt(tree, path))}`
        return [{ path, part: 'value', detail: `expected ${issue.message}${found}` }]
      }
    }
  })
  const byPlace = new Map(faults.toReversed().map((fault) => [fault.path.join('.'), fault]))
  return [...byPlace.values()].toReversed().slice(0, maxFaults)
}
