import type { z } from 'zod'
import { nearMatch } from './near-match.ts'
import { valueAt } from '../json/value-at.ts'
import { sectionShape } from './settings-tree.ts'
import type { SettingLeaf } from './settings-tree.ts'

/** Origin of a value. Lines and columns count from 1, and are absent for the file as a whole. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line?: number; readonly column?: number }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }

export interface Problem {
  readonly source: Source
  /** Dotted, as in `server.port`; '' for no single setting. */
  readonly key: string
  /** One clause, such as `expected true or false, got "maybe"`. Never holds a secret. */
  readonly detail: string
}

/** All problems in the order flags, environment, file from top to bottom. */
export interface ConfigError {
  readonly problems: readonly Problem[]
}

/** `config.yaml:7:9`, `COPILOT_PROXY_SERVER_PORT`, `--port` or `default`. */
export function formatSource(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'file':
      return [source.path, source.line, source.column].filter((part) => part !== undefined).join(':')
    case 'environment':
    case 'flag':
      return source.name
  }
}

/** One line per problem: `config.yaml:7:9  server.port  expected a whole number from 0 to 65535, got "abc"`. */
export function formatConfigError(error: ConfigError): string {
  return formatProblems(error.problems)
}

/** As `formatConfigError`. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems
    .map(({ source, key, detail }) => [formatSource(source), key, detail].filter((part) => part !== '').join('  '))
    .join('\n')
}

/** The form of JSON output. */
export function problemDocument({ source, key, detail }: Problem): Record<'source' | 'key' | 'detail', string> {
  return { source: formatSource(source), key, detail }
}

export interface SettingFault {
  readonly path: readonly PropertyKey[]
  /** The part at fault. */
  readonly part: 'key' | 'value'
  readonly detail: string
}

/** Bounds the work: each fault searches for its position and for similar keys. */
const maxFaults = 50

/** The longest part of a user's value that an error repeats. Characters. */
const maxShown = 40

/** User name, password and query of a URL. */
const privatePartsOfUrl = /(?<=:\/\/)[^/]*@|[?#].*$/gs

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'no value'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return 'a table'
  const safe = value.replaceAll(privatePartsOfUrl, '…')
  return JSON.stringify(safe.length > maxShown ? `${safe.slice(0, maxShown)}…` : safe)
}

/** A similar sibling, or a setting of that name in another section (`server.port` for `port`). */
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

/** Describes the schema's issues with `tree`, one for each path. */
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
        return [{ path, part: issue.params?.['part'] === 'key' ? 'key' : 'value', detail: issue.message }]
      default: {
        // A secret of a wrong type, such as a key of digits only, stays secret.
        const found = isSecret(path, leaves) ? '' : `, got ${shown(valueAt(tree, path))}`
        return [{ path, part: 'value', detail: `expected ${issue.message}${found}` }]
      }
    }
  })
  const byPlace = new Map(faults.toReversed().map((fault) => [fault.path.join('.'), fault]))
  return [...byPlace.values()].toReversed().slice(0, maxFaults)
}
