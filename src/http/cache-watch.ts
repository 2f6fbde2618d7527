import type { Usage } from '../translate/turn.ts'
import { promptSegments } from '../translate/prompt-segments.ts'
import type { PromptSegment } from '../translate/prompt-segments.ts'
import { digest } from '../translate/prepare/digest.ts'

/** Why upstream could not read a prompt from its cache: what differs from the request before. */
interface CacheChange {
  /** Counts the requests of the session from 1. */
  readonly request: number
  /** The request it is compared with. */
  readonly since: number
  /** The first segment that differs, e.g. `tools`; absent where the prefix is the same. */
  readonly segment?: string
  /** More than five minutes passed, after which upstream forgets. Seconds. */
  readonly idleSeconds?: number
  /** Read from the cache all the same; absent where upstream has not said. Tokens. */
  cachedTokens?: number
}

interface CacheSession {
  /** A hash of the name that the caller gave it. */
  readonly session: string
  /** False: the caller names none, and it goes by how it begins. */
  readonly named: boolean
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  /** The newest last. */
  readonly changes: readonly CacheChange[]
}

/** What is watched of one request. */
interface WatchedRequest {
  readonly sessionId: string | undefined
  /** Whose key the caller came with: two callers may use one name. */
  readonly keyName: string | undefined
  readonly model: string
  /** As it was sent upstream. */
  readonly body: Buffer
}

/** Remembers the prompts of each session as hashes. In memory, and only where `log.cache-diagnostics` is on. */
export interface CacheWatch {
  /** Returns what takes the usage of the answer. */
  readonly note: (request: WatchedRequest) => (usage: Usage | undefined) => void
  /** The newest first. */
  readonly sessions: () => readonly CacheSession[]
}

const mostSessions = 50
/** A session holds requests of several agents, each with a prompt of its own. */
const mostPrompts = 4
const mostChanges = 20
/** What both Anthropic and OpenAI keep a prompt for at least. */
const keptMs = 5 * 60_000

interface Prompt {
  readonly request: number
  readonly segments: readonly PromptSegment[]
  readonly atMs: number
}

interface Watched {
  readonly facts: { -readonly [Fact in keyof CacheSession]: CacheSession[Fact] }
  readonly changes: CacheChange[]
  prompts: readonly Prompt[]
}

export function createCacheWatch(now: () => number): CacheWatch {
  // In the order of their last request.
  const sessions = new Map<string, Watched>()

  function sessionOf(session: string, named: boolean): Watched {
    const known = sessions.get(session)
    sessions.delete(session)
    const [oldest] = sessions.keys()
    if (sessions.size >= mostSessions && oldest !== undefined) sessions.delete(oldest)
    const changes: CacheChange[] = []
    const counts = { requests: 0, inputTokens: 0, cachedInputTokens: 0 }
    const watched = known ?? { facts: { session, named, model: '', ...counts, changes }, changes, prompts: [] }
    sessions.set(session, watched)
    return watched
  }

  return {
    note({ sessionId, keyName, model, body }) {
      const { segments, begins } = promptSegments(body)
      const id = digest(JSON.stringify([keyName, sessionId ?? begins]), 12)
      const watched = sessionOf(id, sessionId !== undefined)
      const { facts, changes, prompts } = watched
      facts.model = model
      facts.requests += 1
      const latest = { request: facts.requests, segments, atMs: now() }
      const before = closest(prompts, segments)
      watched.prompts = [...prompts.filter((prompt) => prompt !== before), latest].slice(-mostPrompts)
      const change = before && changeSince(before, latest)
      if (change !== undefined) changes.push(change)
      if (changes.length > mostChanges) changes.shift()
      return (usage) => {
        if (usage === undefined) return
        facts.inputTokens += usage.inputTokens
        facts.cachedInputTokens += usage.cachedInputTokens
        if (change !== undefined) change.cachedTokens = usage.cachedInputTokens
      }
    },
    sessions: () => [...sessions.values()].map(({ facts }) => facts).toReversed(),
  }
}

/** The prompt that the new one goes on from; undefined where none has any of its content. */
function closest(prompts: readonly Prompt[], segments: readonly PromptSegment[]): Prompt | undefined {
  let best: Prompt | undefined
  let most = 0
  for (const prompt of prompts) {
    const same = prompt.segments.filter(({ name, hash }, at) => {
      const other = segments[at]
      return isContent(name) && other?.name === name && other.hash === hash
    }).length
    // Of two that are as close the later one.
    if (same > 0 && same >= most) {
      best = prompt
      most = same
    }
  }
  return best
}

/** What every agent of a session shares says nothing of which of them it is. */
function isContent(name: string): boolean {
  return name !== 'model' && name !== 'prompt_cache_key' && name !== 'settings'
}

function changeSince(before: Prompt, after: Prompt): CacheChange | undefined {
  const at = before.segments.findIndex(({ name, hash }, index) => {
    const other = after.segments[index]
    return other?.name !== name || other.hash !== hash
  })
  const segment = at === -1 ? undefined : before.segments[at]?.name
  const idleMs = after.atMs - before.atMs
  const isIdle = idleMs > keptMs
  if (segment === undefined && !isIdle) return undefined
  return {
    request: after.request,
    since: before.request,
    ...(segment !== undefined && { segment }),
    ...(isIdle && { idleSeconds: Math.round(idleMs / 1000) }),
  }
}
