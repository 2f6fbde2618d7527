import { hash } from 'node:crypto'
import type { Session } from './session.ts'
import type { Tool } from './tool.ts'

/**
 * Model APIs allow 64 characters of A-Z, a-z, 0-9, _ and -. Clients add the name of the server as a prefix, such as
 * `mcp__copilot-proxy__`.
 */
const maxForClients = 40

/** The limit of model APIs. Characters. */
export const maxForModels = 64

/** Names that never move: a key keeps its name, and no other key gets it later. */
export interface StableNames {
  /** Returns the name of a key: `wanted` if it is short enough and free, or its start with a hash of the key. */
  readonly take: (key: string, wanted: string) => string
}

/** Further names are not remembered. They all end with a long hash, so that no two keys share one. */
const maxRemembered = 5000

export function createStableNames(maxLength: number): StableNames {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  return {
    take(key, wanted) {
      const known = names.get(key)
      if (known !== undefined) return known
      const withHash = (length: number, text = key): string =>
        `${wanted.slice(0, maxLength - length - 1)}_${hash('sha256', text).slice(0, length)}`
      if (names.size >= maxRemembered) return withHash(16)
      let name = wanted.length <= maxLength ? wanted : withHash(8)
      // A server may have given another tool the name with the hash.
      for (let trial = 0; taken.has(name); trial += 1)
        name = trial === 0 ? withHash(8) : withHash(16, `${trial} ${key}`)
      names.set(key, name)
      taken.add(name)
      return name
    },
  }
}

const bySession = new WeakMap<Session, Map<string, StableNames>>()

/** Returns the names that a session has given so far. @param use tells the names of the registry, its clients and servers apart */
export function namesOf(session: Session, use: string, maxLength: number): StableNames {
  const uses = bySession.get(session) ?? new Map<string, StableNames>()
  bySession.set(session, uses)
  const names = uses.get(use) ?? createStableNames(maxLength)
  uses.set(use, names)
  return names
}

/** Maps names for clients of MCP to the tools of a session. */
export function namesForClients(session: Session, tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return nameForModels(tools, namesOf(session, 'clients', maxForClients))
}

/**
 * Maps names for models to tools: `fs_read` for `mcp.fs.read`. Other sources name their tools freely, so a name may be too long
 * or taken. It then gets a hash.
 */
export function nameForModels(
  tools: readonly Tool[],
  names: StableNames = createStableNames(maxForClients),
): ReadonlyMap<string, Tool> {
  return new Map(tools.map((tool) => [names.take(tool.name, toModelName(tool.name)), tool]))
}

/** Returns a name with `_` for each character that model APIs refuse, of any length. */
export function toModelName(name: string): string {
  return name.replace(/^mcp\.(?=.)/, '').replaceAll(/[^A-Za-z0-9_-]/gu, '_')
}
