import { isObject } from '../json/json.ts'
import { shortCount, shortCredits, shortMs } from '../terminal/format.ts'
import { createStyle } from '../terminal/output.ts'
import type { Style } from '../terminal/output.ts'
import { visible } from '../terminal/visible.ts'

type Fields = Readonly<Record<string, unknown>>

/** Right-aligned, so that messages start in one column. */
const levelNames: Readonly<Record<string, string>> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: ' INFO',
  warn: ' WARN',
  error: 'ERROR',
  fatal: 'FATAL',
}

/** As `formatLogLine`, for lines that each end in a newline. */
export function formatLogLines(jsonLines: string, options: { readonly colors: boolean }): string {
  return jsonLines
    .split(/(?<=\n)/)
    .map((line) => formatLogLine(line, options))
    .join('')
}

/**
 * Formats a JSON log line for people: `14:03:07.512  INFO message key=value other="two words"` in local time, stacks
 * indented below, and completed requests as in `formatRequest`. Escapes control characters. Returns text that is not a
 * JSON object unchanged.
 */
export function formatLogLine(jsonLine: string, options: { readonly colors: boolean }): string {
  const fields = parseLogLine(jsonLine)
  if (fields === undefined) return jsonLine
  const { level, time, msg, ...others } = fields
  const style = createStyle(options.colors)
  const levelName = typeof level === 'string' ? (levelNames[level] ?? level) : ''
  const paint = level === 'error' || level === 'fatal' ? style.red : level === 'warn' ? style.yellow : style.plain
  const stacks: string[] = []
  const request = typeof msg === 'string' ? formatRequest(msg, others, style) : undefined
  const pairs = Object.entries(request?.remainder ?? others).map(
    ([name, value]) => ` ${style.dim(`${name}=`)}${formatValue(value, stacks)}`,
  )
  const clock = typeof time === 'number' ? `${style.dim(localClock(time))} ` : ''
  const message = request?.text ?? paint(typeof msg === 'string' ? visible(msg) : '')
  const below = stacks.map((stack) => `    ${style.dim(visible(stack))}\n`)
  return `${clock}${paint(levelName)} ${message}${pairs.join('')}\n${below.join('')}`
}

/** Undefined for text that is not a JSON object. */
export function parseLogLine(text: string): Fields | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** A plain word, else JSON. Moves the lines of stacks into `stacks`. */
function formatValue(value: unknown, stacks: string[]): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : visible(JSON.stringify(value))
  const withoutStacks = JSON.stringify(value, (name, inner: unknown) => {
    if (name !== 'stack' || typeof inner !== 'string') return inner
    // The first line repeats name and message.
    const [, ...lines] = inner.split('\n')
    stacks.push(...lines.map((line) => line.trim()))
    return undefined
  })
  return visible(withoutStacks)
}

function localClock(timeMs: number): string {
  const date = new Date(timeMs)
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0'))
  return `${parts.join(':')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Messages about completed requests, and the text that follows the figures. */
const endings: Readonly<Record<string, string>> = {
  'request served': '',
  'request refused': 'refused',
  'request failed': 'failed',
  'stream ended in an error event': 'ended in an error event',
  'the caller disconnected before the answer was complete': 'the caller disconnected',
}

interface FormattedRequest {
  readonly text: string
  /** Fields that the text leaves out. */
  readonly remainder: Fields
}

/**
 * `gpt-5-mini → copilot/chat → 200 → first byte 0.4 s → 1.2k in, 340 out → 0.42 credits → 3.1 s`, without the unknown parts,
 * then the failure, the warnings and the name of the key. Starts with the name that the caller asked for if the model is
 * unknown or upstream has chosen it. Undefined for other messages.
 */
function formatRequest(message: string, fields: Fields, style: Style): FormattedRequest | undefined {
  const ending = Object.hasOwn(endings, message) ? endings[message] : undefined
  if (ending === undefined || typeof fields['status'] !== 'number') return undefined
  const { model, asked, chosen_for: chosenFor, route, status, ttfb_ms: ttfbMs, ...afterStart } = fields
  const { http_status: _head, stream: _stream, credits, ...afterCredits } = afterStart
  const { search_credits: searchCredits, safeguards_credits: checkCredits, ...afterSides } = afterCredits
  const { tokens_in: tokensIn, tokens_out: tokensOut, tokens_cached: tokensCached, ...afterTokens } = afterSides
  const { estimated, ms, warnings, key, request_id: requestId, error, cause, ...afterCost } = afterTokens
  // The text of a failure has upstream's id of the request.
  const { service_request_id: _id, ...remainder } = afterCost
  const steps = [
    typeof chosenFor === 'string' ? visible(chosenFor) : '',
    typeof model === 'string' ? style.bold(visible(model)) : typeof asked === 'string' ? visible(asked) : '',
    typeof route === 'string' ? visible(route) : '',
    (status >= 500 ? style.red : status >= 400 ? style.yellow : style.green)(String(status)),
    typeof ttfbMs === 'number' ? `first byte ${shortMs(ttfbMs)}` : '',
    tokens(tokensIn, tokensOut, tokensCached),
    typeof credits === 'number' ? `${shortCredits(credits, estimated === true)} credits` : '',
    typeof searchCredits === 'number' ? `${shortCredits(searchCredits, estimated === true)} for searches` : '',
    typeof checkCredits === 'number' ? `${shortCredits(checkCredits, estimated === true)} for checks of calls` : '',
    typeof ms === 'number' ? shortMs(ms) : '',
  ].filter((step) => step !== '')
  const failure = describeError(error)
  const shownWarnings = listOf(warnings).map((warning) => visible(warning))
  const isPlain = ending === '' && shownWarnings.length === 0
  const notes = [
    ...(ending === '' ? [] : [style.yellow(failure === '' ? ending : `${ending}: ${failure}`)]),
    ...(shownWarnings.length === 0 ? [] : [style.yellow(`warnings: ${shownWarnings.join('; ')}`)]),
    ...(typeof key === 'string' ? [`key ${visible(key)}`] : []),
    ...(typeof requestId === 'string' && !isPlain ? [style.dim(visible(requestId))] : []),
  ]
  const unsaid = {
    ...(failure === '' && error !== undefined && { error }),
    ...(cause !== undefined && { cause: shortCause(cause) }),
  }
  return { text: [steps.join(style.dim(' → ')), ...notes].join('  '), remainder: { ...remainder, ...unsaid } }
}

/** `SocketError: other side closed (UND_ERR_SOCKET)`; the cause itself if it has a stack, as defects of ours do. */
function shortCause(cause: unknown): unknown {
  if (!isObject(cause) || 'stack' in cause) return cause
  const { name, message, code } = cause
  if (typeof name !== 'string' || typeof message !== 'string') return cause
  return `${name}: ${message}${typeof code === 'string' ? ` (${code})` : ''}`
}

function listOf(warnings: unknown): readonly string[] {
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : []
}

function tokens(read: unknown, written: unknown, cached: unknown): string {
  if (typeof read !== 'number' || typeof written !== 'number') return ''
  const fromCache = typeof cached === 'number' && cached > 0 ? ` (${shortCount(cached)} cached)` : ''
  return `${shortCount(read)} in${fromCache}, ${shortCount(written)} out`
}

/** Fields that say what happened, best first. */
const descriptions = ['message', 'detail', 'upstream_message'] as const
/** Fields that say what to do. */
const advices = ['advice', 'fix'] as const
/** Upstream's id of the request. Sources: docs/copilot-wire.md, "Response headers"; docs/codex-wire.md. */
const idHeaders = ['x-github-request-id', 'x-copilot-service-request-id', 'x-oai-request-id'] as const

/** Formats a ProxyError: what happened, what to do, and upstream's request id. '' for anything else. */
function describeError(error: unknown): string {
  if (!isObject(error) || typeof error['kind'] !== 'string') return ''
  const { kind, path, code, retry_after: retryAfter, headers } = error
  const description = textsOf(error, descriptions)[0]
  const prefix =
    kind === 'invalid_request' && typeof path === 'string' && path !== ''
      ? `${path}: `
      : kind === 'upstream_unusable'
        ? 'unusable answer of the provider: '
        : ''
  const summary = description === undefined ? describeKind(kind, error) : `${prefix}${description}`
  const ids = isObject(headers) ? textsOf(headers, idHeaders) : []
  const advice = textsOf(error, advices)
  const text = advice.length === 0 ? summary : [sentence(summary), ...advice].join(' ')
  return [
    typeof code === 'string' ? `${text} (${code})` : text,
    ...(typeof retryAfter === 'string' ? [`retry-after ${retryAfter}`] : []),
    ...ids.slice(0, 1).map((id) => `upstream id ${id}`),
  ]
    .map(visible)
    .join('  ')
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** `upstream silent (phase idle, after_ms 300000)`, for an error without a description. */
function describeKind(kind: string, error: Fields): string {
  const { problem = 'missing', limit, period, key_name: keyName, per_minute: perMinute, setting } = error
  if (kind === 'key_required') return `${problem === 'missing' ? 'no' : String(problem)} key`
  if (kind === 'not_stored') return 'response not stored'
  if (kind === 'upstream_truncated') return 'the provider closed the stream before it had finished'
  if (kind === 'session_refused') return String(problem).replaceAll('_', ' ')
  if (kind === 'credits_spent') {
    const section = keyName === undefined ? 'usage.' : 'server.key-limits, '
    return `limit of ${String(limit)} credits a ${String(period)} (${section}credits-per-${String(period)})`
  }
  if (kind === 'rate_limited') return `rate limit of ${String(perMinute)} requests a minute (${String(setting)})`
  const facts = Object.entries(error).flatMap(([name, value]) =>
    name !== 'kind' && (typeof value === 'string' || typeof value === 'number') ? [`${name} ${value}`] : [],
  )
  const name = kind.replaceAll('_', ' ')
  return facts.length === 0 ? name : `${name} (${facts.join(', ')})`
}

function textsOf(fields: Fields, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = fields[name]
    return typeof value === 'string' && value !== '' ? [value] : []
  })
}
