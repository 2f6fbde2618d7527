import type { Tool, ToolSource } from '../tools/tool.ts'

/** A provider that is bound to a session. */
export interface BoundProvider {
  readonly id: string
  readonly name: string
  readonly sessionId: string
  readonly tools: () => readonly Tool[]
  /** Ends the connection, because another one replaces it. */
  readonly replace: () => void
}

/** The tools of all bound providers, as a source of the registry. */
export interface ProviderTools extends Required<Omit<ToolSource, 'prepare'>> {
  /** Replaces a provider of the same name in the same session. */
  readonly bind: (provider: BoundProvider) => void
  readonly unbind: (provider: BoundProvider) => void
  /** Call after the tools of a provider have changed. */
  readonly changed: (sessionId: string) => void
  readonly bound: () => readonly BoundProvider[]
}

/** Changes within this time are announced together. Ms. */
const batchMs = 200

export function createProviderTools(setTimer: (run: () => void, delayMs: number) => unknown): ProviderTools {
  const bound = new Set<BoundProvider>()
  const listeners = new Set<(sessionId: string) => void>()
  /** Caches the tools of each session id until they change. */
  const collected = new Map<string, readonly Tool[]>()
  /** Ids of sessions whose change is not announced yet. */
  let waiting = new Set<string>()

  function changed(sessionId: string): void {
    collected.delete(sessionId)
    if (waiting.size === 0) setTimer(announce, batchMs)
    waiting.add(sessionId)
  }

  function announce(): void {
    const sessions = waiting
    waiting = new Set()
    for (const id of sessions) for (const listener of listeners) listener(id)
  }

  function collect(sessionId: string): readonly Tool[] {
    const tools = [...bound].filter((provider) => provider.sessionId === sessionId).flatMap((each) => each.tools())
    if (tools.length > 0) collected.set(sessionId, tools)
    return tools
  }

  return {
    tools: ({ id }) => collected.get(id) ?? collect(id),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    bind(provider) {
      const before = [...bound].find(
        ({ name, sessionId }) => name === provider.name && sessionId === provider.sessionId,
      )
      before?.replace()
      bound.add(provider)
      changed(provider.sessionId)
    },
    unbind(provider) {
      if (bound.delete(provider)) changed(provider.sessionId)
    },
    changed,
    bound: () => [...bound],
  }
}
