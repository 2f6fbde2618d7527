import type { ProviderId } from '../executors/executor.ts'
import type { Credits } from '../models/credits.ts'
import { createCounter, createHistogram, formatGauge, formatRatio } from './exposition.ts'

interface EndedRequest {
  /** One of few names: the caller's dialect, a route that has none, or `turn` for a program in this process. */
  readonly kind: string
  /** Name of the accepted key, one of the configuration. */
  readonly key?: string | undefined
  /** Absent if the request ended before its model was known. */
  readonly model?: { readonly provider: ProviderId; readonly id: string } | undefined
  /** `copilot/chat`; absent as `model`. */
  readonly route?: string | undefined
  /** Sent to the caller, also in the midst of a stream; 499 after a client disconnect. */
  readonly status: number
  readonly seconds: number
  /** Until the head of the caller's stream went out; absent without a stream. */
  readonly firstByteSeconds?: number | undefined
  readonly tokens?: TokenCounts | undefined
  readonly credits?: Credits | undefined
  /** Premium requests that GitHub bills for it. */
  readonly premiumRequests?: number | undefined
}

export interface TokenCounts {
  /** Including those read from a cache. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
}

/** Gauges at the moment of rendering. */
interface MetricsNow {
  /** Also the counters that have a label for the key. */
  readonly withKeys: boolean
  readonly active: number
  readonly queued: number
  readonly version: string
  readonly nodeVersion: string
}

export interface Metrics {
  readonly requestEnded: (request: EndedRequest) => void
  /** A request was refused before it reached a model route: a key, an origin, an unknown path. */
  readonly refused: (status: number) => void
  readonly upstreamAnswered: (provider: ProviderId, status: number) => void
  readonly tokenRefreshed: (provider: ProviderId, ok: boolean) => void
  readonly render: (now: MetricsNow) => string
}

/** Seconds. A model takes from half a second to some minutes. */
const durationBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const firstByteBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/**
 * Counts since the daemon started. Every label has few values: models are those of the registry, and any other name that
 * a caller asks for is `other`.
 */
export function createMetrics(): Metrics {
  /** In the order of the output. */
  const renders: ((now: Pick<MetricsNow, 'withKeys'>) => string)[] = []
  const keyCounter = (name: string, help: string, labels: readonly string[]) => {
    const created = createCounter({ name, help }, labels)
    renders.push(({ withKeys }) => (withKeys ? created.render() : ''))
    return created
  }
  const counter = (name: string, help: string, labels: readonly string[]) => {
    const created = createCounter({ name, help }, labels)
    renders.push(created.render)
    return created
  }
  const histogram = (name: string, help: string, labels: readonly string[], bounds: readonly number[]) => {
    const created = createHistogram({ name, help }, labels, bounds)
    renders.push(created.render)
    return created
  }

  const requests = counter(
    'copilot_proxy_requests_total',
    'Model requests by status. 499: the caller disconnected before the end of the answer.',
    ['api', 'route', 'model', 'status'],
  )
  const durations = histogram(
    'copilot_proxy_request_duration_seconds',
    'Time from the arrival of a model request to the end of its answer, including time in the queue.',
    ['api', 'route'],
    durationBounds,
  )
  const firstBytes = histogram(
    'copilot_proxy_time_to_first_byte_seconds',
    'Time from the arrival of a streaming model request to the first byte of its answer.',
    ['api', 'route'],
    firstByteBounds,
  )
  const inputTokens = counter('copilot_proxy_input_tokens_total', 'Input tokens, including cached ones.', [
    'provider',
    'model',
  ])
  const cachedTokens = counter(
    'copilot_proxy_cached_input_tokens_total',
    'Input tokens that the provider read from its cache.',
    ['provider', 'model'],
  )
  const cacheWriteTokens = counter(
    'copilot_proxy_cache_write_tokens_total',
    'Input tokens that the provider wrote to its cache.',
    ['provider', 'model'],
  )
  const cacheHitRatio = {
    name: 'copilot_proxy_cache_hit_ratio',
    help: 'Cached share of the input tokens since the daemon started.',
  }
  renders.push(() => formatRatio(cacheHitRatio, cachedTokens, inputTokens))
  const outputTokens = counter('copilot_proxy_output_tokens_total', 'Output tokens.', ['provider', 'model'])
  const aiCredits = counter(
    'copilot_proxy_credits_total',
    'AI credits. measured: reported by GitHub. estimated: computed from the model prices.',
    ['provider', 'model', 'kind'],
  )
  const premium = counter(
    'copilot_proxy_premium_requests_total',
    'Premium requests: user requests times the multiplier of the model.',
    ['provider', 'model'],
  )
  const keyRequests = keyCounter('copilot_proxy_key_requests_total', 'Model requests by key.', ['key', 'status'])
  const keyTokens = keyCounter('copilot_proxy_key_tokens_total', 'Input and output tokens by key.', [
    'key',
    'direction',
  ])
  const keyCredits = keyCounter(
    'copilot_proxy_key_credits_total',
    'AI credits by key. measured: reported by GitHub. estimated: computed from the model prices.',
    ['key', 'kind'],
  )
  const refusals = counter(
    'copilot_proxy_refused_requests_total',
    'Requests refused before they reached a model route, by status.',
    ['status'],
  )
  const upstream = counter('copilot_proxy_upstream_responses_total', 'Responses of the providers by status.', [
    'provider',
    'status',
  ])
  const refreshes = counter('copilot_proxy_token_refreshes_total', 'Access token requests by outcome.', [
    'provider',
    'outcome',
  ])

  return {
    requestEnded({
      kind,
      key,
      model,
      route = 'none',
      status,
      seconds,
      firstByteSeconds,
      tokens,
      credits,
      premiumRequests,
    }) {
      requests.add([kind, route, model?.id ?? 'other', String(status)])
      durations.observe([kind, route], seconds)
      if (firstByteSeconds !== undefined) firstBytes.observe([kind, route], firstByteSeconds)
      if (key !== undefined) keyRequests.add([key, String(status)])
      if (model === undefined) return
      const labels = [model.provider, model.id]
      if (premiumRequests !== undefined) premium.add(labels, premiumRequests)
      if (credits !== undefined) {
        const credited = credits.estimated ? 'estimated' : 'measured'
        aiCredits.add([...labels, credited], credits.nanoAiu / 1e9)
        if (key !== undefined) keyCredits.add([key, credited], credits.nanoAiu / 1e9)
      }
      if (tokens === undefined) return
      inputTokens.add(labels, tokens.inputTokens)
      cachedTokens.add(labels, tokens.cachedInputTokens)
      cacheWriteTokens.add(labels, tokens.cacheWriteTokens)
      outputTokens.add(labels, tokens.outputTokens)
      if (key === undefined) return
      keyTokens.add([key, 'input'], tokens.inputTokens)
      keyTokens.add([key, 'output'], tokens.outputTokens)
    },
    refused: (status) => refusals.add([String(status)]),
    upstreamAnswered: (provider, status) => upstream.add([provider, String(status)]),
    tokenRefreshed: (provider, ok) => refreshes.add([provider, ok ? 'ok' : 'failed']),
    render: ({ withKeys, active, queued, version, nodeVersion }) =>
      [
        formatGauge({ name: 'copilot_proxy_build_info', help: 'Version of copilot-proxy and Node.js.' }, 1, {
          version,
          node: nodeVersion,
        }),
        formatGauge({ name: 'copilot_proxy_active_requests', help: 'Model requests in progress.' }, active),
        formatGauge({ name: 'copilot_proxy_queued_requests', help: 'Model requests in the queue.' }, queued),
        ...renders.map((render) => render({ withKeys })),
      ].join(''),
  }
}
