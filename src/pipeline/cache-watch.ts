import { createLruMap } from '../cache/lru-map.ts'
import { maySee } from '../config/caller.ts'
import type { Caller } from '../config/caller.ts'
import type { Usage } from '../translate/turn.ts'
import { digest } from '../translate/engine/ids.ts'
import { isObject, objectsOf, parseObject } from '../json/json.ts'

/** A difference from an earlier request that can keep upstream from reading the prompt from its cache. */
interface CacheChange {
  /** The number of the request in its session, from 1. */
  readonly request: number
  /** The number of the earlier request. */
  readonly since: number
  /** The first segment that differs, e.g. `tools`; absent if the prefix is the same. */
  readonly segment?: string
  /** The time between the two requests, if it exceeds the cache's lifetime (`cacheLifeMs`). Seconds. */
  readonly idleSeconds?: number
  /** Tokens that upstream still read from its cache; absent if upstream did not report them. */
  cachedTokens?: number
}

interface CacheSession {
  /** A hash of the caller's session id, or of the beginning of the prompt. */
  readonly session: string
  /** Whether the caller gave a session id. */
  readonly named: boolean
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  /** The newest last. */
  readonly changes: readonly CacheChange[]
}

interface WatchedRequest {
  readonly sessionId: string | undefined
  /** The accepted API key; two callers may use the same session id. */
  readonly keyId: string | undefined
  readonly model: string
  /** The upstream request body. */
  readonly body: Buffer
}

/** Keeps hashes of each session's prompts, in memory and only if `log.cache-diagnostics` is on. */
export interface CacheWatch {
  /** Records a request. Returns a function that records the usage of its answer. */
  readonly note: (request: WatchedRequest) => (usage: Usage | undefined) => void
  /** The sessions that the caller may see, the newest first. */
  readonly sessions: (caller: Caller) => readonly CacheSession[]
}

const maxSessions = 50
/** A session contains requests of several agents, each with its own prompt. */
const maxPrompts = 4
const maxChanges = 20
/** Anthropic and OpenAI keep a prompt for at least this long. */
const cacheLifeMs = 5 * 60_000

/** One piece of a prompt, in the order in which upstream caches it. */
interface PromptSegment {
  /** `model`, `tools`, `system[1]`, `messages[4]`. */
  readonly name: string
  /** A digest of the content, from which the prompt cannot be read. */
  readonly hash: string
}

interface Prompt {
  readonly request: number
  readonly segments: readonly PromptSegment[]
  readonly atMs: number
}

interface Watched {
  readonly ownerId: string | undefined
  readonly facts: { -readonly [Fact in keyof CacheSession]: CacheSession[Fact] }
  prompts: readonly Prompt[]
}

export function createCacheWatch(now: () => number): CacheWatch {
  const sessions = createLruMap<Watched>({ maxEntries: maxSessions })

  function sessionOf(session: string, named: boolean, ownerId: string | undefined): Watched {
    const known = sessions.get(session)
    if (known !== undefined) return known
    const counts = { requests: 0, inputTokens: 0, cachedInputTokens: 0 }
    const watched: Watched = { ownerId, facts: { session, named, model: '', ...counts, changes: [] }, prompts: [] }
    sessions.set(session, watched)
    return watched
  }

  return {
    note({ sessionId, keyId, model, body }) {
      const { segments, begins } = readPrompt(body)
      const id = digest(JSON.stringify([keyId, sessionId ?? begins]), 12)
      const watched = sessionOf(id, sessionId !== undefined, keyId)
      const { facts, prompts } = watched
      facts.model = model
      facts.requests += 1
      const latest = { request: facts.requests, segments, atMs: now() }
      const before = closest(prompts, segments)
      watched.prompts = [...prompts.filter((prompt) => prompt !== before), latest].slice(-maxPrompts)
      const change = before && changeSince(before, latest)
      if (change !== undefined) facts.changes = [...facts.changes, change].slice(-maxChanges)
      return (usage) => {
        if (usage === undefined) return
        facts.inputTokens += usage.inputTokens
        facts.cachedInputTokens += usage.cachedInputTokens
        if (change !== undefined) change.cachedTokens = usage.cachedInputTokens
      }
    },
    sessions: (caller) =>
      sessions
        .values()
        .filter(({ ownerId }) => maySee(caller, ownerId))
        .map(({ facts }) => facts)
        .toReversed(),
  }
}

/** The prompt that shares most segments with the new one; undefined if none shares content. */
function closest(prompts: readonly Prompt[], segments: readonly PromptSegment[]): Prompt | undefined {
  let best: Prompt | undefined
  let most = 0
  for (const prompt of prompts) {
    const same = prompt.segments.filter(({ name, hash }, at) => {
      const other = segments[at]
      return isContent(name) && other?.name === name && other.hash === hash
    }).length
    // If two prompts are equally close, keep the later one.
    if (same > 0 && same >= most) {
      best = prompt
      most = same
    }
  }
  return best
}

/** All agents of a session share the other segments, so those do not identify an agent. */
function isContent(name: string): boolean {
  return name !== 'model' && name !== 'prompt_cache_key' && name !== 'settings'
}

function changeSince(before: Prompt, after: Prompt): CacheChange | undefined {
  const at = before.segments.findIndex(({ name, hash }, index) => {
    const other = after.segments[index]
    return other?.name !== name || other.hash !== hash
  })
  const changed = at === -1 ? undefined : before.segments[at]?.name
  const idleMs = after.atMs - before.atMs
  const isIdle = idleMs > cacheLifeMs
  if (changed === undefined && !isIdle) return undefined
  return {
    request: after.request,
    since: before.request,
    ...(changed !== undefined && { segment: changed }),
    ...(isIdle && { idleSeconds: Math.round(idleMs / 1000) }),
  }
}

/** Segments beyond this number are not compared. */
const maxSegments = 2000

/** Members that affect how upstream reads the prompt: a change of one may invalidate the cache of all messages. */
const settingNames = [
  'tool_choice',
  'thinking',
  'reasoning',
  'reasoning_effort',
  'output_config',
  'response_format',
  'text',
]

/**
 * Hashes the pieces of an upstream request in any dialect. Ignores cache marks, which move with every request. `begins` is
 * the hash of the first user message, which stays the same throughout a conversation.
 */
function readPrompt(sent: Buffer) {
  const body = parseObject(sent.toString('utf8')) ?? {}
  const settings = settingNames.map((name) => body[name])
  const segments = [
    ...['model', 'prompt_cache_key', 'tools'].map((name) => segment(name, body[name])),
    segment('settings', settings),
    ...['system', 'instructions', 'messages', 'input'].flatMap((name) => listed(name, body[name])),
  ]
  const first = objectsOf(body['messages'] ?? body['input']).find(({ role }) => role === 'user')
  return { segments: segments.slice(0, maxSegments), begins: segment('', first).hash }
}

function listed(name: string, value: unknown): readonly PromptSegment[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return [segment(name, value)]
  return value.slice(0, maxSegments).map((element: unknown, at) => segment(`${name}[${at}]`, element))
}

function segment(name: string, value: unknown): PromptSegment {
  // Upstream reads an absent member as an empty list.
  return { name, hash: digest(JSON.stringify(value ?? [], withoutMarks), 12) }
}

const marks: ReadonlySet<string> = new Set(['cache_control', 'copilot_cache_control', 'prompt_cache_breakpoint'])

function withoutMarks(key: string, value: unknown): unknown {
  return marks.has(key) && isMark(value) ? undefined : value
}

/** Distinguishes a cache mark from a tool parameter of the same name. */
function isMark(value: unknown): boolean {
  return isObject(value) && (typeof value['mode'] === 'string' || value['type'] === 'ephemeral')
}
