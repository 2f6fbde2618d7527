import { isObject } from '../json/json.ts'
import { nearMatch } from './near-match.ts'
import type { Problem, Source } from './problem.ts'
import { retiredDetail, retiredSettings } from './retired-settings.ts'
import { withLowerCaseKeys } from './settings-tree.ts'
import type { LeafKind, SettingLeaf } from './settings-tree.ts'
import { readFlow } from './yaml-document.ts'

/** Variables of the process, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A value from a variable or a flag. */
export interface Assignment {
  readonly path: readonly string[]
  readonly value: unknown
  readonly source: Source
}

const prefix = 'COPILOT_PROXY_'

/** Not a setting; see paths.ts. */
const homeVariable = 'COPILOT_PROXY_HOME'

/** The key that a client presents to the proxy: the client's variable, not a setting. */
export const callerKeyVariable = 'COPILOT_PROXY_API_KEY'

const noSettings: ReadonlySet<string> = new Set([homeVariable, callerKeyVariable])

/** `server.api-keys` is set by `COPILOT_PROXY_SERVER_API_KEYS`. */
export function variableName(path: readonly string[]): string {
  return prefix + path.join('_').replaceAll('-', '_').toUpperCase()
}

/**
 * Variables that Kubernetes sets in every container beside a service named `copilot-proxy`: without the prefix,
 * `SERVICE_HOST`, `SERVICE_PORT`, `SERVICE_PORT_<port name>`, `PORT_4141_TCP`, `PORT_4141_TCP_ADDR` …
 * Source: "Service", discovering services by environment variables (kubernetes.io, 2026-11).
 */
const serviceVariable =
  /^(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** The value of `COPILOT_PROXY_PORT` from Kubernetes. From a person, it means `server.port`. */
const serviceAddress = /^(?:tcp|udp|sctp):\/\/\S+:\d+$/

function isOfKubernetes(name: string, text: string): boolean {
  const ending = name.slice(prefix.length)
  return serviceVariable.test(ending) || (ending === 'PORT' && serviceAddress.test(text))
}

/** Decimal notation only: `0x10` and `1e3` are more likely mistakes. */
function numberFrom(text: string): unknown {
  const value = /^-?\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : NaN
  return Number.isFinite(value) ? value : text
}

function booleanFrom(text: string): unknown {
  const word = text.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : text
}

function listFrom(text: string): unknown {
  if (text.trim().startsWith('[')) return readFlow(text) ?? text
  return text.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]))
}

/** Parses the text by the kind of setting; text that does not fit stays, for the schema to refuse. */
function valueFrom(kind: LeafKind, text: string): unknown {
  switch (kind) {
    case 'text':
      return text
    case 'number':
      return numberFrom(text)
    case 'boolean':
      return booleanFrom(text)
    case 'list':
      return listFrom(text)
    case 'table':
      return text.trim() === '' ? {} : (readFlow(text) ?? text)
  }
}

/** Assigns plain text to a setting. A table overrides the other sources entry by entry. */
export function assignText(leaf: SettingLeaf, text: string, source: Source): readonly Assignment[] {
  const value = valueFrom(leaf.kind, text)
  if (leaf.kind !== 'table' || !isObject(value)) return [{ path: leaf.path, value, source }]
  const table = leaf.caseless ? withLowerCaseKeys(value) : value
  return Object.entries(table).map(([key, entry]) => ({ path: [...leaf.path, key], value: entry, source }))
}

/** One entry of a table: `COPILOT_PROXY_COPILOT_HEADERS_USER_AGENT` sets `user-agent`. */
function assignEntry(
  name: string,
  text: string,
  leaves: readonly SettingLeaf[],
  source: Source,
): readonly Assignment[] | undefined {
  const table = leaves.find(({ kind, path }) => kind === 'table' && name.startsWith(`${variableName(path)}_`))
  if (table === undefined) return undefined
  const entry = name
    .slice(variableName(table.path).length + 1)
    .toLowerCase()
    .replaceAll('_', '-')
  return entry === '' ? undefined : [{ path: [...table.path, entry], value: text, source }]
}

/** A variable with a similar name, or the one whose section is missing (`COPILOT_PROXY_PORT`). */
function meantVariable(name: string, leaves: readonly SettingLeaf[]): string | undefined {
  const ending = name.slice(prefix.length)
  const known = [...leaves.map(({ path }) => variableName(path)), ...noSettings]
  const similar = nearMatch(
    ending,
    known.map((candidate) => candidate.slice(prefix.length)),
  )
  if (similar !== undefined) return prefix + similar
  const inSection = leaves.find(({ path }) => variableName(path.slice(-1)) === name)
  return inSection && variableName(inSection.path)
}

function unknownVariable(name: string, leaves: readonly SettingLeaf[], source: Source): Problem {
  const meant = meantVariable(name, leaves)
  return {
    source,
    key: '',
    detail: meant === undefined ? 'unknown variable' : `unknown variable, did you mean ${meant}?`,
  }
}

/**
 * Reads the settings in `COPILOT_PROXY_*` variables, a table before its single entries. A variable that names no setting is a
 * problem, because it would silently have no effect; one that names a retired setting is a warning. An empty one counts as unset: compose files pass unset variables on
 * as empty.
 */
export function readEnvironment(
  environment: Environment,
  leaves: readonly SettingLeaf[],
): {
  readonly assignments: readonly Assignment[]
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
} {
  const byName = new Map(leaves.map((leaf) => [variableName(leaf.path), leaf]))
  const assignments: Assignment[] = []
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const [name, text] of Object.entries(environment).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (text === undefined || text === '' || !name.startsWith(prefix) || noSettings.has(name)) continue
    if (isOfKubernetes(name, text)) continue
    const source: Source = { kind: 'environment', name }
    const retired = retiredSettings.find(({ key }) => `${name}_`.startsWith(`${variableName(key.split('.'))}_`))
    if (retired !== undefined) {
      warnings.push({ source, key: retired.key, detail: retiredDetail(retired) })
      continue
    }
    const leaf = byName.get(name)
    const assigned = leaf === undefined ? assignEntry(name, text, leaves, source) : assignText(leaf, text, source)
    if (assigned === undefined) problems.push(unknownVariable(name, leaves, source))
    else assignments.push(...assigned)
  }
  return { assignments, problems, warnings }
}
