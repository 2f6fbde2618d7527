import type { ProviderId } from '../executors/executor.ts'
import type { Credits } from '../models/credits.ts'
import { createCounter, createHistogram, createRatio, formatGauge } from './exposition.ts'

/** What a model request is asked in: a dialect, or one of the routes that have none. */
export type RequestKind = 'chat' | 'responses' | 'messages' | 'embeddings' | 'count_tokens'

interface EndedRequest {
  readonly kind: RequestKind
  /** Absent where the request ended before its model was known. */
  readonly model?: { readonly provider: ProviderId; readonly id: string } | undefined
  /** `copilot/chat`; absent as `model`. */
  readonly route?: string | undefined
  /** What the caller was answered, also in the midst of a stream; 499 where it left before. */
  readonly status: number
  readonly seconds: number
  /** Until the head of the caller's stream went out; absent where the answer was no stream. */
  readonly firstByteSeconds?: number | undefined
  readonly tokens?: TokenCounts | undefined
  readonly credits?: Credits | undefined
  /** What the request counts as where GitHub bills premium requests. */
  readonly premiumRequests?: number | undefined
}

export interface TokenCounts {
  /** Those read from a cache included. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
}

/** What is so at this moment, and is therefore not counted here. */
interface MetricsNow {
  readonly active: number
  readonly queued: number
  readonly version: string
  readonly nodeVersion: string
}

export interface Metrics {
  readonly requestEnded: (request: EndedRequest) => void
  /** A request was refused before it came to a model route: a key, an origin, an unknown path. */
  readonly refused: (status: number) => void
  /** An upstream has answered; the only label values are its statuses. */
  readonly upstreamAnswered: (provider: ProviderId, status: number) => void
  readonly tokenRefreshed: (provider: ProviderId, ok: boolean) => void
  /** In Prometheus' text format. */
  readonly render: (now: MetricsNow) => string
}

/** Seconds. Answers of a model take from half a second to some minutes. */
const durationBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const firstByteBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/**
 * Counts since the daemon started. Every label has few values: models are those of the registry, which the meter of a
 * request names; whatever else a caller asked for is `other`.
 */
export function createMetrics(): Metrics {
  const requests = createCounter(
    {
      name: 'copilot_proxy_requests_total',
      help: 'Model requests, by what the caller was answered. 499: the caller left before.',
    },
    ['dialect', 'route', 'model', 'status'],
  )
  const durations = createHistogram(
    {
      name: 'copilot_proxy_request_duration_seconds',
      help: 'From the arrival of a model request to the end of its answer, waiting in the queue included.',
    },
    ['dialect', 'route'],
    durationBounds,
  )
  const firstBytes = createHistogram(
    {
      name: 'copilot_proxy_time_to_first_byte_seconds',
      help: 'From the arrival of a model request to the first byte of its stream. Streams only.',
    },
    ['dialect', 'route'],
    firstByteBounds,
  )
  const inputTokens = createCounter(
    { name: 'copilot_proxy_input_tokens_total', help: 'Tokens that models have read, cached ones included.' },
    ['provider', 'model'],
  )
  const cachedTokens = createCounter(
    { name: 'copilot_proxy_cached_input_tokens_total', help: 'Tokens among those read that came from a cache.' },
    ['provider', 'model'],
  )
  const cacheWriteTokens = createCounter(
    { name: 'copilot_proxy_cache_write_tokens_total', help: 'Tokens among those read that were written to a cache.' },
    ['provider', 'model'],
  )
  const cacheHits = createRatio(
    {
      name: 'copilot_proxy_cache_hit_ratio',
      help: 'Share of the tokens read that came from a cache, since the daemon started.',
    },
    ['provider', 'model'],
  )
  const outputTokens = createCounter(
    { name: 'copilot_proxy_output_tokens_total', help: 'Tokens that models have written.' },
    ['provider', 'model'],
  )
  const aiCredits = createCounter(
    {
      name: 'copilot_proxy_credits_total',
      help: 'AI credits: measured as GitHub stated them with the reply, or else estimated from prices.',
    },
    ['provider', 'model', 'kind'],
  )
  const premium = createCounter(
    {
      name: 'copilot_proxy_premium_requests_total',
      help: 'Requests of users times the multiplier of the model, for plans that are billed so.',
    },
    ['provider', 'model'],
  )
  const refusals = createCounter(
    {
      name: 'copilot_proxy_refused_requests_total',
      help: 'Requests that were refused before they came to a model route.',
    },
    ['status'],
  )
  const upstream = createCounter(
    { name: 'copilot_proxy_upstream_responses_total', help: 'Answers of upstreams by their status.' },
    ['provider', 'status'],
  )
  const refreshes = createCounter(
    { name: 'copilot_proxy_token_refreshes_total', help: 'Access tokens that were asked for, and what came of it.' },
    ['provider', 'outcome'],
  )

  return {
    requestEnded({ kind, model, route = 'none', status, seconds, firstByteSeconds, tokens, ...cost }) {
      requests.add([kind, route, model?.id ?? 'other', String(status)])
      durations.observe([kind, route], seconds)
      if (firstByteSeconds !== undefined) firstBytes.observe([kind, route], firstByteSeconds)
      if (model === undefined) return
      const labels = [model.provider, model.id]
      const { credits, premiumRequests } = cost
      if (premiumRequests !== undefined) premium.add(labels, premiumRequests)
      if (credits !== undefined) {
        aiCredits.add([...labels, credits.estimated ? 'estimated' : 'measured'], credits.nanoAiu / 1e9)
      }
      if (tokens === undefined) return
      inputTokens.add(labels, tokens.inputTokens)
      cachedTokens.add(labels, tokens.cachedInputTokens)
      cacheWriteTokens.add(labels, tokens.cacheWriteTokens)
      cacheHits.add(labels, tokens.cachedInputTokens, tokens.inputTokens)
      outputTokens.add(labels, tokens.outputTokens)
    },
    refused: (status) => refusals.add([String(status)]),
    upstreamAnswered: (provider, status) => upstream.add([provider, String(status)]),
    tokenRefreshed: (provider, ok) => refreshes.add([provider, ok ? 'ok' : 'failed']),
    render: ({ active, queued, version, nodeVersion }) =>
      [
        formatGauge({ name: 'copilot_proxy_build_info', help: 'The version that runs.' }, 1, {
          version,
          node: nodeVersion,
        }),
        formatGauge(
          { name: 'copilot_proxy_active_requests', help: 'Model requests that are being served now.' },
          active,
        ),
        formatGauge({ name: 'copilot_proxy_queued_requests', help: 'Model requests that wait for a place.' }, queued),
        ...[
          requests,
          durations,
          firstBytes,
          inputTokens,
          cachedTokens,
          cacheWriteTokens,
          cacheHits,
          outputTokens,
          aiCredits,
          premium,
          refusals,
          upstream,
          refreshes,
        ].map((family) => family.render()),
      ].join(''),
  }
}
