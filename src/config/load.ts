import { isObject } from '../json/json.ts'
import { valueAt } from '../json/value-at.ts'
import {
  camelKeys,
  settingLeaves,
  valuePaths,
  withLowerCaseKeys,
  withoutEmptySections,
  withoutValue,
  withValue,
} from './settings-tree.ts'
import { type Assignment, assignText, type Environment, readEnvironment } from './environment.ts'
import { settingFaults } from './problem.ts'
import type { ConfigError, Problem, SettingFault, Source } from './problem.ts'
import { givesWayToDefault, sanitizeCopilotOAuth } from './sanitize-copilot-oauth.ts'
import { type Config, configSchema, type SettingKey } from './schema.ts'
import { readProxies } from './proxy-variables.ts'
import { retiredDetail, retiredSettings } from './retired-settings.ts'
import { readYaml } from './yaml-document.ts'

export interface ConfigFile {
  readonly path: string
  readonly text: string
}

/** A command-line option that was given. */
export interface Flag {
  /** As the user writes it, e.g. `--port`. */
  readonly name: string
  readonly key: SettingKey
  readonly text: string
}

export interface ConfigInput {
  /** Undefined: there is no file. */
  readonly file: ConfigFile | undefined
  readonly env: Environment
  readonly flags: readonly Flag[]
  /** Sections that count as absent. */
  readonly leftOut?: readonly string[] | undefined
}

/** The source of each value by dotted key, and of each entry of a table (`copilot.headers.user-agent`). */
export type Sources = Readonly<Record<string, Source>>

export type LoadResult =
  | {
      readonly ok: true
      readonly value: Config
      readonly sources: Sources
      /** Retired settings that file and environment still have. */
      readonly warnings: readonly Problem[]
    }
  | { readonly ok: false; readonly error: ConfigError }

const leaves = settingLeaves(configSchema)

type Path = readonly PropertyKey[]
type Locate = (path: Path, part: 'key' | 'value') => Source

interface FileSettings {
  readonly tree: unknown
  readonly locate: Locate
}

function caselessTablesInLowerCase(tree: unknown): unknown {
  return leaves.reduce((all, { path, caseless }) => {
    const table = caseless ? valueAt(all, path) : undefined
    return isObject(table) ? withValue(all, path, withLowerCaseKeys(table)) : all
  }, tree)
}

function readFile(file: ConfigFile | undefined): FileSettings | Problem {
  if (file === undefined) return { tree: {}, locate: () => ({ kind: 'default' }) }
  const { path } = file
  const read = readYaml(file.text)
  if (!read.ok) {
    const { position, key, detail } = read.fault
    return { source: { kind: 'file', path, ...position }, key, detail }
  }
  return {
    tree: caselessTablesInLowerCase(withoutEmptySections(configSchema, read.value.value ?? {})),
    locate: (at, part) => ({ kind: 'file', path, ...read.value.locate(at, part) }),
  }
}

/** The file's settings that still exist, and a warning for each other one. */
function withoutRetired({ tree, locate }: FileSettings): {
  readonly tree: unknown
  readonly warnings: readonly Problem[]
} {
  const found = retiredSettings.filter(({ key }) => valueAt(tree, key.split('.')) !== undefined)
  return {
    tree: found.reduce<unknown>((all, { key }) => withoutValue(all, key.split('.')), tree),
    warnings: found.map((retired) => ({
      source: locate(retired.key.split('.'), 'key'),
      key: retired.key,
      detail: retiredDetail(retired),
    })),
  }
}

function readFlags(flags: readonly Flag[]): readonly Assignment[] {
  return flags.flatMap(({ name, key, text }) => {
    const leaf = leaves.find((candidate) => candidate.key === key)
    return leaf === undefined ? [] : assignText(leaf, text, { kind: 'flag', name })
  })
}

/** The last assignment to `path` or to a path around it. */
function assignmentAt(assignments: readonly Assignment[], path: Path): Assignment | undefined {
  return assignments.findLast((assignment) => assignment.path.every((step, index) => path[index] === step))
}

const rank: Record<Source['kind'], number> = { flag: 0, environment: 1, file: 2, default: 3 }

function compareSources(a: Source, b: Source): number {
  if (a.kind !== 'file' || b.kind !== 'file') return rank[a.kind] - rank[b.kind]
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}

/**
 * Merges flags, environment, file and defaults, in this order of precedence, and validates the result and the proxies of the
 * environment. Pure, and never throws: it returns all problems at once, each with its source.
 */
export function loadConfig({ file, env, flags, leftOut = [] }: ConfigInput): LoadResult {
  const environment = readEnvironment(env, leaves)
  const proxies = readProxies(env)
  const inEnvironment = [...environment.problems, ...(proxies.ok ? [] : proxies.problems)]
  const fromFile = readFile(file)
  if ('detail' in fromFile) return { ok: false, error: { problems: [...inEnvironment, fromFile] } }

  const assignments = [...environment.assignments, ...readFlags(flags)]
  const current = withoutRetired(fromFile)
  const given = assignments.reduce((all, { path, value }) => withValue(all, path, value), current.tree)
  const tree = leftOut.reduce((all, section) => withoutValue(all, [section]), given)
  const sourceOf: Locate = (path, part) => assignmentAt(assignments, path)?.source ?? fromFile.locate(path, part)

  // Parsed once: zod's compiler would take longer than it saves.
  const parsed = configSchema.safeParse(isObject(tree) ? sanitizeCopilotOAuth(tree) : tree, { jitless: true })
  if (!parsed.success || inEnvironment.length > 0) {
    const faults = settingFaults(parsed.error?.issues ?? [], tree, configSchema, leaves)
    const toProblem = ({ path, part, detail }: SettingFault): Problem => ({
      source: sourceOf(path, part),
      key: path.join('.'),
      detail,
    })
    const problems = [...inEnvironment, ...faults.map(toProblem)]
    return { ok: false, error: { problems: problems.toSorted((a, b) => compareSources(a.source, b.source)) } }
  }

  const sources = valuePaths(parsed.data, leaves).map((path): [string, Source] => {
    const key = path.join('.')
    const read = valueAt(tree, path)
    const isDefault = read === undefined || givesWayToDefault(key, read)
    return [key, isDefault ? { kind: 'default' } : sourceOf(path, 'value')]
  })
  return {
    ok: true,
    value: camelKeys(configSchema, parsed.data),
    sources: Object.fromEntries(sources),
    warnings: [...environment.warnings, ...current.warnings].toSorted((a, b) => compareSources(a.source, b.source)),
  }
}
