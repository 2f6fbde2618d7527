import type { RequestDetail, RequestDocument } from '../api/requests.ts'
import { isFailure } from '../errors.ts'
import { mayHoldKey } from '../redaction/key-headers.ts'
import { createBodyText, type BodyText } from './body-text.ts'

/** Where a request came from over HTTP. */
export interface RequestOrigin {
  readonly method: string
  /** The route's pattern, or the path if there is none; without a query. */
  readonly path: string
  readonly userAgent: string | undefined
}

/** The fields of a request's log line that the list shows. */
interface RequestLine {
  readonly requestId: string
  readonly status: number
  /** The status in the head of the answer, if the request ended otherwise. */
  readonly httpStatus?: number | undefined
  readonly model?: string | undefined
  readonly route?: string | undefined
  readonly fallback?: string | undefined
  readonly key?: string | undefined
  readonly stream?: boolean | undefined
  readonly ttfbMs?: number | undefined
  readonly ms?: number | undefined
  readonly tokensIn?: number | undefined
  readonly tokensOut?: number | undefined
  readonly tokensCached?: number | undefined
  readonly credits?: number | undefined
  readonly searchCredits?: number | undefined
  readonly safeguardsCredits?: number | undefined
  readonly estimated?: boolean | undefined
  readonly serviceRequestId?: string | undefined
  readonly warnings?: readonly string[] | undefined
  readonly error?: unknown
  readonly cause?: unknown
}

export interface EndedRequest {
  /** Ms since epoch. */
  readonly startedAtMs: number
  /** The caller's API; undefined for a request that reached no model route. */
  readonly kind?: string | undefined
  /** Undefined for a program in this process. */
  readonly origin?: RequestOrigin | undefined
  /** The id of the key that sent it; undefined without a key. */
  readonly ownerId?: string | undefined
  /** The label of the caller's conversation; '' if it names none. */
  readonly session?: string | undefined
  /** The model name in the request. */
  readonly askedModel?: string | undefined
  /** Changes that lose nothing of the request. The log has them at debug only. */
  readonly adapted?: readonly string[] | undefined
  /** Why it failed, in the words that the caller read. */
  readonly problem?: string | undefined
  /** The object that was logged; kept, not copied. */
  readonly line: RequestLine
}

export interface RequestFilter {
  readonly limit: number
  /** The name of a key. */
  readonly key?: string | undefined
  /** Asked for or routed to. */
  readonly model?: string | undefined
  readonly failedOnly?: boolean
  /** Only requests that ended after the one with this id; all if it is not in the list. */
  readonly after?: string | undefined
}

/** Whether the caller may see what the key with this id sent; undefined: a request without a key. */
type MaySee = (ownerId: string | undefined) => boolean

/** The last requests, in memory. */
export interface RequestList {
  readonly note: (request: EndedRequest) => void
  /** Keeps a part of a body if `log.bodies` is on; parts of one body are joined. */
  readonly noteBody: (id: string, part: 'request' | 'answer', text: string) => void
  /** Keeps the headers of a request as `noteBody` keeps its body. */
  readonly noteHeaders: (id: string, headers: RequestHeaders) => void
  /** The requests that the caller may see, newest first. */
  readonly list: (filter: RequestFilter, maySee: MaySee) => readonly RequestDocument[]
  /**
   * Undefined also for a request that the caller may not see.
   * @param idOrStart a whole id, or at least its first 8 characters
   */
  readonly find: (idOrStart: string, maySee: MaySee) => RequestDetail | undefined
}

type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface RequestListOptions {
  readonly keepsBodies: () => boolean
  /** Removes known credentials: upstream may repeat them in its messages. */
  readonly redact: (text: string) => string
  /** Removes them from a whole body. Default: `redact`. */
  readonly redactBody?: ((text: string) => string) | undefined
}

/** Requests; about 1.4 KB each, allocated as they come. */
export const maxRequests = 1000
/** The longest body that is kept whole, and all bodies together. Characters. */
const maxBody = 512 * 1024
const maxBodies = 8 * 1024 * 1024
/** Longer texts of callers and upstreams are cut, and longer lists of warnings. */
const maxText = 300
const maxError = 1000
const maxWarnings = 20
const shortestStart = 8

type Entry = EndedRequest & { readonly repeated?: readonly string[] }

interface Bodies {
  readonly request: BodyText
  readonly answer: BodyText
  readonly headers?: Readonly<Record<string, string>>
}

/** Headers besides those with the caller's key whose values are credentials, whatever they look like. */
const secretHeader = /^(?:proxy-authorization|cookie|.*(?:token|secret|password).*)$/

export function createRequestList({ keepsBodies, redact, redactBody = redact }: RequestListOptions): RequestList {
  /** A ring once it is full; `next` is then the oldest. */
  const entries: Entry[] = []
  let next = 0
  /** By request id, oldest first. */
  const bodies = new Map<string, Bodies>()
  let bodyChars = 0

  function* newestFirst(maySee: MaySee): Generator<Entry> {
    for (let back = 1; back <= entries.length; back += 1) {
      const entry = entries[(next - back + entries.length) % entries.length]
      if (entry !== undefined && maySee(entry.ownerId)) yield entry
    }
  }

  /** The warnings that earlier requests of the same conversation have too. */
  function repeatedIn({ line: { warnings = [] }, session, ownerId }: Entry): readonly string[] {
    if (!session || warnings.length === 0) return []
    const left = new Set(warnings)
    for (const { line, ...earlier } of entries) {
      if (left.size === 0) break
      if (earlier.session !== session || earlier.ownerId !== ownerId) continue
      for (const warning of line.warnings ?? []) left.delete(warning)
    }
    return warnings.filter((warning) => !left.has(warning))
  }

  function forgetBodies(id: string): void {
    const old = bodies.get(id)
    if (old === undefined) return
    bodyChars -= sizeOf(old)
    bodies.delete(id)
  }

  function bodiesOf(id: string): Bodies {
    const known = bodies.get(id)
    if (known !== undefined) return known
    const made = { request: createBodyText(maxBody, redactBody), answer: createBodyText(maxBody, redactBody) }
    bodies.set(id, made)
    return made
  }

  /** Runs a change of the bodies of a request, and counts it. */
  function change(kept: Bodies, run: () => void): void {
    const before = sizeOf(kept)
    run()
    bodyChars += sizeOf(kept) - before
  }

  /** Bodies do not outlive the setting that keeps them. */
  function forgetUnwanted(): void {
    if (bodies.size === 0 || keepsBodies()) return
    bodies.clear()
    bodyChars = 0
  }

  return {
    note(request) {
      forgetUnwanted()
      const texts = bodies.get(request.line.requestId)
      if (texts !== undefined) change(texts, () => [texts.request, texts.answer].forEach((body) => body.finish()))
      const kept = bounded(request, redact)
      const repeated = repeatedIn(kept)
      const entry = repeated.length === 0 ? kept : { ...kept, repeated }
      if (entries.length < maxRequests) entries.push(entry)
      else entries[next] = entry
      next = (next + 1) % maxRequests
    },
    noteBody(id, part, text) {
      if (!keepsBodies()) return
      const kept = bodiesOf(id)
      change(kept, () => kept[part].add(text))
      for (const oldest of bodies.keys()) {
        if (bodyChars <= maxBodies) break
        forgetBodies(oldest)
      }
    },
    noteHeaders(id, given) {
      if (!keepsBodies()) return
      const shown = Object.entries(given).filter(([name]) => !mayHoldKey.has(name) && !secretHeader.test(name))
      // Node takes at most 16 KB of headers: they are not counted with the bodies.
      const headers = Object.fromEntries(shown.map(([name, value]) => [name, cut(redact([value].flat().join(', ')))]))
      bodies.set(id, { ...bodiesOf(id), headers })
    },
    list({ limit, key, model, failedOnly = false, after }, maySee) {
      const found: RequestDocument[] = []
      for (const entry of newestFirst(maySee)) {
        const { line, askedModel } = entry
        if (found.length === limit || (after !== undefined && line.requestId === after)) break
        if (key !== undefined && line.key !== key) continue
        if (model !== undefined && line.model !== model && askedModel !== model) continue
        if (failedOnly && !isFailure(line.status)) continue
        found.push(toDocument(entry))
      }
      return found
    },
    find(idOrStart, maySee) {
      if (idOrStart.length < shortestStart) return undefined
      forgetUnwanted()
      for (const entry of newestFirst(maySee)) {
        const { requestId } = entry.line
        if (requestId.startsWith(idOrStart)) return { ...toDocument(entry), ...toBodies(bodies.get(requestId)) }
      }
      return undefined
    },
  }
}

function sizeOf({ request, answer }: Bodies): number {
  return request.size() + answer.size()
}

function toBodies(kept: Bodies | undefined) {
  const [request, answer] = [kept?.request.finish(), kept?.answer.finish()]
  return {
    request_headers: kept?.headers ?? null,
    bodies: kept === undefined ? 'not_kept' : 'kept',
    request_body: request?.text || null,
    request_body_truncated: request?.isCut ?? false,
    answer_body: answer?.text || null,
    answer_body_truncated: answer?.isCut ?? false,
  } as const
}

/** An entry that keeps no error object and no long text of a caller. Ordinary requests are kept as they are. */
function bounded(request: EndedRequest, redact: (text: string) => string): Entry {
  const { line, origin, askedModel = '', adapted = [], problem } = request
  const { error, warnings = [] } = line
  const agent = origin?.userAgent ?? ''
  const isSmall = askedModel.length <= maxText && agent.length <= maxText && (origin?.path.length ?? 0) <= maxText
  if (error === undefined && isSmall && warnings.length <= maxWarnings && adapted.length <= maxWarnings) return request
  const cutAll = (texts: readonly string[]) => texts.slice(0, maxWarnings).map((each) => cut(each))
  return {
    ...request,
    origin: origin && { method: origin.method, path: cut(origin.path), userAgent: cut(agent) || undefined },
    askedModel: cut(askedModel) || undefined,
    adapted: cutAll(adapted),
    line: { ...line, warnings: cutAll(warnings), error: undefined, cause: undefined },
    problem: problem && cut(redact(problem), maxError),
  }
}

/** A copy, because a slice would keep the long text in memory. */
function cut(text: string, longest = maxText): string {
  return text.length <= longest ? text : `${Buffer.from(text.slice(0, longest)).toString()}…`
}

function toDocument(entry: Entry): RequestDocument {
  const { line, origin, startedAtMs, problem } = entry
  return {
    id: line.requestId,
    time: new Date(startedAtMs).toISOString(),
    // Runs of sessions call models without HTTP.
    client: entry.kind === 'turn' ? 'copilot-proxy' : clientOf(origin?.userAgent),
    user_agent: origin?.userAgent ?? null,
    key: line.key ?? null,
    api: entry.kind ?? null,
    method: origin?.method ?? null,
    path: origin?.path ?? null,
    asked_model: entry.askedModel ?? null,
    model: line.model ?? null,
    route: line.route ?? null,
    fallback: line.fallback ?? null,
    status: line.status,
    http_status: line.httpStatus ?? line.status,
    failed: isFailure(line.status),
    stream: line.stream ?? null,
    input_tokens: line.tokensIn ?? null,
    output_tokens: line.tokensOut ?? null,
    cached_input_tokens: line.tokensCached ?? null,
    credits: line.credits ?? null,
    search_credits: line.searchCredits ?? null,
    safeguards_credits: line.safeguardsCredits ?? null,
    estimated: line.estimated ?? false,
    first_byte_ms: line.ttfbMs ?? null,
    duration_ms: line.ms ?? null,
    warnings: line.warnings ?? [],
    repeated_warnings: entry.repeated ?? [],
    adapted: entry.adapted ?? [],
    error: problem ?? null,
    upstream_request_id: line.serviceRequestId ?? null,
  }
}

/** How clients start their user agent: Claude Code, Codex CLI, the SDKs of OpenAI and Anthropic. */
const knownClients: readonly (readonly [start: RegExp, name: string])[] = [
  [/^claude-cli\//, 'claude'],
  [/^codex[_-]/, 'codex'],
  [/^(?:Async)?OpenAI\//, 'openai-sdk'],
  [/^(?:Async)?Anthropic\//, 'anthropic-sdk'],
]

/** A known client's name, else the first product of the user agent without its version: `opencode`, `curl`. */
export function clientOf(userAgent: string | undefined): string | null {
  if (!userAgent) return null
  const known = knownClients.find(([start]) => start.test(userAgent))?.[1]
  return known ?? (userAgent.split(/[/ (]/, 1)[0] || userAgent)
}
