import { visible } from './terminal/visible.ts'

type Fields = Readonly<Record<string, unknown>>

/** In this order: what happened, in the error's own words. */
const wordings = ['message', 'detail', 'upstreamMessage'] as const
/** What to do about it. */
const advices = ['advice', 'fix'] as const
/** Upstream's own id of the request. Sources: docs/copilot-wire.md, "Response headers"; docs/codex-wire.md. */
const idHeaders = ['x-github-request-id', 'x-copilot-service-request-id', 'x-oai-request-id'] as const

/**
 * The `error` of a log line as a person reads it: what happened, what to do, and upstream's request id; the JSON form of
 * the log has all of it. '' for what is no error of ours.
 */
export function formatError(error: unknown): string {
  if (!isObject(error) || typeof error['kind'] !== 'string') return ''
  const { kind, path, code, retryAfter, headers } = error
  const said = textsOf(error, wordings)[0]
  const place = kind === 'invalid_request' && typeof path === 'string' && path !== '' ? `${path}: ` : ''
  const words = said === undefined ? wordsOf(kind, error) : `${place}${said}`
  const ids = isObject(headers) ? textsOf(headers, idHeaders) : []
  return [
    typeof code === 'string' ? `${words} (${code})` : words,
    ...textsOf(error, advices),
    ...(typeof retryAfter === 'string' ? [`retry-after ${retryAfter}`] : []),
    ...ids.slice(0, 1).map((id) => `upstream id ${id}`),
  ]
    .map(visible)
    .join('  ')
}

/** `upstream silent (phase idle, afterMs 300000)`, for a kind that has no words of its own. */
function wordsOf(kind: string, error: Fields): string {
  const facts = Object.entries(error).flatMap(([name, value]) =>
    name !== 'kind' && (typeof value === 'string' || typeof value === 'number') ? [`${name} ${value}`] : [],
  )
  const words = kind.replaceAll('_', ' ')
  return facts.length === 0 ? words : `${words} (${facts.join(', ')})`
}

function textsOf(fields: Fields, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = fields[name]
    return typeof value === 'string' && value !== '' ? [value] : []
  })
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
