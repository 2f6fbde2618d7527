import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ownerCaller } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import { keyHeaders } from '../../redaction/key-headers.ts'
import { findKey, prepareKeys, presentedKeys } from './api-keys.ts'
import type { ApiKey } from './api-keys.ts'
import { addressIdentity } from './caller-identity.ts'
import { crowdSeconds } from './failed-keys.ts'
import type { FailedKeys } from './failed-keys.ts'
import type { OwnerAccess } from './owner-access.ts'
import { createKnownCallers } from './key-sessions.ts'
import type { KeySessions } from './key-sessions.ts'
import { checkOrigin } from './origin-policy.ts'
import type { PeerCheck } from './peer-check.ts'

interface GuardSettings {
  readonly host: string
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly apiKeys: readonly string[]
  readonly checkPeer: boolean
}

export interface GuardDeps {
  readonly settings: () => GuardSettings
  readonly failedKeys: FailedKeys
  readonly sessions: KeySessions
  readonly owner: Pick<OwnerAccess, 'keys'>
  readonly peers: Pick<PeerCheck, 'refusalOf'>
  readonly setTimer: (run: () => void, delayMs: number) => unknown
}

export interface Guard {
  /**
   * Checks origin and key, or without configured keys the user of the caller, before the body is read, then calls `next`.
   * Without a right key `next` gets the fault `key_required`, and for another user `forbidden`. The call may come later:
   * after a wrong key, and for the first request of a connection.
   * @throws Fault `forbidden`, `wrong_keys`
   */
  readonly check: (request: FastifyRequest, reply: FastifyReply, next: (refusal?: Fault) => void) => void
  /** The keys of the current configuration. */
  readonly keys: () => readonly ApiKey[]
  /** All that is accepted as a key now: the configured ones, and the tokens of the owner. */
  readonly accepted: () => readonly ApiKey[]
}

export function createGuard({ settings, failedKeys, sessions, owner, peers, setTimer }: GuardDeps): Guard {
  let entries: readonly string[] = []
  let prepared: readonly ApiKey[] = []

  function keys(): readonly ApiKey[] {
    const { apiKeys } = settings()
    if (apiKeys !== entries) {
      entries = apiKeys
      prepared = prepareKeys(apiKeys)
    }
    return prepared
  }

  const accepted = (): readonly ApiKey[] => [...keys(), ...owner.keys()]
  const knownCallers = createKnownCallers()
  /** The address identity of each connection, computed once. */
  const sources = new WeakMap<Socket, string>()

  function sourceOf(socket: Socket): string {
    const source = sources.get(socket) ?? addressIdentity(socket.remoteAddress)
    sources.set(socket, source)
    return source
  }

  /**
   * The presented key if it is right. While a source is crowded with wrong keys, only keys accepted from it before are
   * compared. A right guess among parallel guesses then gets no quick answer that reveals it, and programs with an
   * accepted key keep working.
   * @throws Fault `wrong_keys`
   */
  function recognize(presented: readonly string[], source: string): ApiKey | undefined {
    const isCrowded = failedKeys.isCrowded(source)
    const key = findKey(presented, isCrowded ? accepted().filter((each) => knownCallers.has(source, each)) : accepted())
    if (key !== undefined) knownCallers.note(source, key)
    else if (isCrowded) throw new Fault({ kind: 'wrong_keys', retryAfterSeconds: crowdSeconds })
    return key
  }

  function accept(request: FastifyRequest, reply: FastifyReply, key: ApiKey): void {
    const isOwner = owner.keys().includes(key)
    request.caller = isOwner ? ownerCaller : { key: { name: key.name, id: key.id }, isOwner: false }
    sessions.accept(reply.raw, request.raw.socket, key)
  }

  /** Without configured keys, the user of the caller decides. */
  function admitPeer(socket: Socket, next: (refusal?: Fault) => void): void {
    const refusal = settings().checkPeer ? peers.refusalOf(socket) : undefined
    if (refusal instanceof Promise) void admitLater(refusal, next)
    else next(refusal)
  }

  async function admitLater(found: Promise<Fault | undefined>, next: (refusal?: Fault) => void): Promise<void> {
    const refusal = await found
    // A key may have been configured meanwhile.
    next(refusal ?? (keys().length > 0 ? new Fault({ kind: 'key_required' }) : undefined))
  }

  return {
    keys,
    accepted,
    check(request, reply, next) {
      const { host, allowedHosts, allowedOrigins } = settings()
      const port = request.socket.localPort ?? 0
      const known = keys()
      const policy = { host, port, allowedHosts, allowedOrigins, hasKeys: known.length > 0, hasPage: true }
      const verdict = checkOrigin(request.headers, request.raw.rawHeaders, policy)
      if (!verdict.ok) throw new Fault({ kind: 'forbidden', detail: verdict.detail, advice: verdict.advice })
      if (verdict.origin !== undefined) {
        reply.header('access-control-allow-origin', verdict.origin)
        reply.header('vary', 'Origin')
        reply.header('access-control-expose-headers', exposedHeaders)
      }
      // A preflight carries no credential, so its origin alone decides.
      if (request.method === 'OPTIONS' && verdict.origin !== undefined) return next()
      const { public: isPublic, checksPeer } = request.routeOptions.config
      if (isPublic === true && (checksPeer !== true || known.length > 0)) return next()
      const presented = presentedKeys(request.headers)
      if (known.length === 0) {
        // Without keys, clients send any text as a key. It is accepted, but only the owner's token makes the caller the owner.
        const key = findKey(presented, owner.keys())
        if (key === undefined) return admitPeer(request.raw.socket, next)
        accept(request, reply, key)
        return next()
      }
      if (presented.length === 0) return next(new Fault({ kind: 'key_required' }))
      const source = sourceOf(request.raw.socket)
      const key = recognize(presented, source)
      if (key !== undefined) {
        accept(request, reply, key)
        return next()
      }
      const waitMs = failedKeys.count(source)
      const refuse = (): void => next(new Fault({ kind: 'key_required', problem: 'wrong' }))
      if (waitMs === 0) return refuse()
      // Also if the caller hangs up: its delayed answer stays counted.
      setTimer(refuse, waitMs)
    },
  }
}

/** Response headers that a web page may read. */
const exposedHeaders = [
  'x-request-id',
  'request-id',
  'mcp-session-id',
  'x-copilot-proxy-route',
  'x-copilot-proxy-fallback',
  'x-copilot-proxy-warnings',
  'x-copilot-proxy-token-count',
  'x-copilot-proxy-credits',
  'x-copilot-proxy-models',
].join(', ')

/** Request headers that a web page may send: those of the three APIs, of their SDKs and of MCP. */
const allowedHeader = new RegExp(
  `^(?:${keyHeaders.join('|')}|accept|content-type|last-event-id|x-initiator|x-request-id|` +
    '(?:anthropic|mcp|openai|x-stainless)-[a-z0-9-]+)$',
)

/** The answer to a preflight from an allowed origin. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asked = (request.headers['access-control-request-headers'] ?? 'authorization, content-type').toLowerCase()
  const allowed = asked.split(/[\s,]+/).filter((name) => allowedHeader.test(name))
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, HEAD, POST, DELETE')
    .header('access-control-allow-headers', allowed.join(', '))
    .header('access-control-max-age', '600')
    .send()
}
