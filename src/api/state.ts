import { z } from 'zod'
import type { Body } from './body.ts'

/** `GET /` for programs, and `GET /api/hello`. */
export const greeting = z.object({ ok: z.literal(true), name: z.literal('copilot-proxy') })
export type Greeting = Body<typeof greeting>

const availability = z.enum(['ok', 'unavailable'])

/** `GET /healthz`. */
export const health = z.object({
  ok: z.literal(true),
  copilot: availability,
  /** Absent without a login or key for Codex. */
  codex: availability.optional(),
  version: z.string(),
  /** The configuration file is empty or invalid, so that earlier settings are in force. */
  config: z.literal('invalid').optional(),
  /** Answers come from the simulated Copilot. */
  demo: z.literal(true).optional(),
})
export type Health = Body<typeof health>

/** `GET /readyz`, while a provider is available. */
export const readiness = z.object({ ok: z.literal(true) })
export type Readiness = Body<typeof readiness>

/** `GET /caller`: who the caller is. */
export const callerReport = z.object({
  /** The name of the caller's key. */
  key: z.string().nullable(),
  owner: z.boolean(),
  /** There is a workspace, so the routes of sessions answer. */
  sessions: z.boolean(),
})
export type CallerReport = Body<typeof callerReport>

const providerCheck = z.object({
  ok: z.boolean(),
  /** Why not, as a request would get it. */
  reason: z.string().optional(),
})
export type ProviderCheck = Body<typeof providerCheck>

/** `GET /self-check`: whether the providers answer the daemon. */
export const selfCheck = z.object({
  copilot: providerCheck,
  /** Absent without a login or key for Codex. */
  codex: providerCheck.optional(),
  /** Hashes of the daemon's network variables, for the owner alone. */
  variables: z.record(z.string(), z.string()).optional(),
})
export type SelfCheck = Body<typeof selfCheck>

/** A difference from an earlier request that can keep upstream from reading the prompt from its cache. */
const cacheChange = z.object({
  /** The number of the request in its session, from 1. */
  request: z.number(),
  /** The number of the earlier request. */
  since: z.number(),
  /** The first segment that differs, e.g. `tools`; absent if the prefix is the same. */
  segment: z.string().optional(),
  /** The time between the two requests, if it exceeds the cache's lifetime. Seconds. */
  idle_seconds: z.number().optional(),
  /** Tokens that upstream still read from its cache; absent if upstream did not report them. */
  cached_tokens: z.number().optional(),
})
export type CacheChange = Body<typeof cacheChange>

const cacheSession = z.object({
  /** A hash of the caller's session id, or of the beginning of the prompt. */
  session: z.string(),
  /** Whether the caller gave a session id. */
  named: z.boolean(),
  model: z.string(),
  requests: z.number(),
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  /** The newest last. */
  changes: z.array(cacheChange),
})
export type CacheSession = Body<typeof cacheSession>

/** `GET /cache`. */
export const cacheReport = z.object({
  /** `log.cache-diagnostics`. */
  on: z.boolean(),
  /** The newest first. */
  sessions: z.array(cacheSession),
})
export type CacheReport = Body<typeof cacheReport>
