import { mayHoldKey } from '../../redaction/key-headers.ts'
import { shortCount, shortCredits, shortMs } from '../../terminal/format.ts'
import type { Output, Style } from '../../terminal/output.ts'
import { clipText, formatPairs, formatRow, layoutTable } from '../../terminal/table.ts'
import type { TableColumn, TableLayout } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import type { RequestDetail, RequestDocument } from '../../api/requests.ts'

type Screen = Pick<Output, 'columns' | 'style'>

type Column = TableColumn<RequestDocument>
export type RequestsLayout = TableLayout<RequestDocument>

/** @param rank as in TableColumn; undefined: the column always stays */
function textColumn(title: string, rank: number | undefined, width: number, cell: Column['cell']): Column {
  return { title, width, cell: (request) => visible(cell(request)), ...(rank !== undefined && { rank }) }
}

function amountColumn(...given: Parameters<typeof textColumn>): Column {
  return { ...textColumn(...given), align: 'right' }
}

function columnsAt(nowMs: () => number): readonly Column[] {
  return [
    textColumn('TIME', undefined, 8, ({ time }) => shortTime(time, nowMs())),
    textColumn('ID', 10, 8, ({ id }) => id.slice(0, 8)),
    textColumn('CLIENT', 6, 10, ({ client }) => client ?? '-'),
    textColumn('KEY', 4, 12, ({ key }) => key ?? '-'),
    textColumn('MODEL', undefined, 17, ({ model, asked_model: asked }) => model ?? asked ?? '-'),
    textColumn('ROUTE', 1, 17, ({ route }) => route ?? '-'),
    { ...textColumn('STATUS', undefined, 6, ({ status }) => String(status)), paint: paintOf },
    amountColumn('IN', 8, 5, ({ input_tokens: tokens }) => countText(tokens)),
    amountColumn('CACHED', 3, 6, ({ cached_input_tokens: tokens }) => countText(tokens)),
    amountColumn('OUT', 7, 5, ({ output_tokens: tokens }) => countText(tokens)),
    amountColumn('CREDITS', 5, 7, creditsText),
    amountColumn('FIRST', 2, 6, ({ first_byte_ms: ms }) => msText(ms)),
    amountColumn('TOOK', 9, 6, ({ duration_ms: ms }) => msText(ms)),
  ]
}

/**
 * Made once, so that the rows of `--follow` line up.
 * @param rows whose cells the columns have to fit
 */
export function layoutRequests(rows: readonly RequestDocument[], nowMs: () => number, screen: Screen): RequestsLayout {
  return layoutTable(columnsAt(nowMs), rows, screen)
}

/** A line for each request; below a failed one the error, below others their warnings. */
export function requestsRows(rows: readonly RequestDocument[], layout: RequestsLayout, screen: Screen): string {
  return rows.map((request) => `${formatRow(layout, request, screen)}\n${noteLine(request, screen)}`).join('')
}

const indent = '         '

/** Warnings that every request of a conversation repeats are shown once. */
function noteLine(request: RequestDocument, { columns: width, style }: Screen): string {
  const { error, repeated_warnings: repeated } = request
  const warnings = request.warnings.filter((warning) => !repeated.includes(warning))
  const text = error ?? (warnings.length === 0 ? '' : `warnings: ${warnings.join('; ')}`)
  return text === '' ? '' : `${indent}${style.dim(clipText(visible(text), width - indent.length))}\n`
}

function paintOf({ status, failed }: RequestDocument, style: Style): (text: string) => string {
  return status >= 500 ? style.red : failed || status >= 400 ? style.yellow : style.green
}

/** The time of day, or the date of an earlier day. */
function shortTime(isoTime: string, nowMs: number): string {
  const date = new Date(isoTime)
  if (Number.isNaN(date.getTime())) return isoTime
  const isToday = date.toDateString() === new Date(nowMs).toDateString()
  return isToday ? date.toTimeString().slice(0, 8) : date.toDateString().slice(4, 10)
}

function countText(amount: number | null): string {
  return amount === null ? '' : shortCount(amount)
}

function creditsText(request: RequestDocument): string {
  const { credits, search_credits: searches, safeguards_credits: checks, estimated } = request
  if (credits === null && searches === null && checks === null) return ''
  return shortCredits((credits ?? 0) + (searches ?? 0) + (checks ?? 0), estimated)
}

function msText(ms: number | null): string {
  return ms === null ? '' : shortMs(ms)
}

interface Place {
  readonly url: string
  readonly isKeyAsked: boolean
}

/** One request with all that is known of it, and a curl command. */
export function requestText(request: RequestDetail, place: Place, { style }: Pick<Output, 'style'>): string {
  const { client, user_agent: agent, key, method, path, asked_model: asked, model, route, status } = request
  const { http_status: httpStatus, stream, error, warnings, adapted, answer_body: answer } = request
  const tokens =
    request.input_tokens === null
      ? ''
      : `${request.input_tokens} in (${request.cached_input_tokens ?? 0} cached), ${request.output_tokens ?? 0} out`
  const cost = creditsText(request)
  const pairs: readonly (readonly [string, string])[] = [
    ['Request', request.id],
    ['Time', new Date(request.time).toString().replace(/ \(.*$/, '')],
    ['Client', client === null ? '' : client === agent || agent === null ? client : `${client} (${agent})`],
    ['Key', key ?? ''],
    ['Endpoint', method === null ? '' : `${method} ${path ?? ''}${stream ? ', streamed' : ''}`],
    [
      'Model',
      asked !== null && model !== null && asked !== model ? `${model}, requested as ${asked}` : (model ?? asked ?? ''),
    ],
    ['Route', route ?? ''],
    ['Fallback', request.fallback ?? ''],
    ['Status', httpStatus === status ? String(status) : `${status}, after the answer had started with ${httpStatus}`],
    ['Error', error ?? ''],
    ['Tokens', tokens],
    ['Credits', cost],
    ['First byte', msText(request.first_byte_ms)],
    ['Duration', msText(request.duration_ms)],
    ...warnings.map((warning, at) => [at === 0 ? 'Warnings' : '', warning] as const),
    ...adapted.map((change, at) => [at === 0 ? 'Adapted' : '', change] as const),
    ["Provider's id", request.upstream_request_id ?? ''],
  ]
  const shown = formatPairs(
    pairs.map(([label, value]) => [label, visible(value)]),
    style,
  )
  const answerLines =
    answer === null
      ? ''
      : answer
          .split('\n')
          .map((line) => `${visible(line)}\n`)
          .join('')
  const isCut = request.answer_body_truncated ? ' (the first part)' : ''
  const repeat = repeatText(request, place)
  return [
    shown,
    ...(repeat === undefined ? [] : [repeat]),
    ...(answer === null ? [] : [`Answer${isCut}:\n${answerLines}`]),
  ].join('\n')
}

/** APIs whose requests are a JSON body and nothing else. */
const repeatable: ReadonlySet<string | null> = new Set(['chat', 'messages', 'count_tokens', 'responses', 'embeddings'])

/** How to send the request again. Undefined for requests of a program in the daemon, for example the agent. */
function repeatText(request: RequestDetail, place: Place): string | undefined {
  if (request.method !== 'POST' || !repeatable.has(request.api)) return undefined
  const curl = curlText(request, place)
  if (curl !== undefined) return `Repeat it:\n${curl}\n`
  if (request.request_body?.includes(removed)) {
    return 'No command repeats this request, because its body has a credential, which is not stored.\n'
  }
  return request.request_body_truncated
    ? 'No command repeats this request, because its body was too long to store.\n'
    : 'No command repeats this request, because its body was not stored. To store bodies: copilot-proxy config set log.bodies true\n'
}

/** In place of a credential. */
const removed = '[redacted]'

/** Headers besides those with a key that curl or this command sets, or that apply to one connection. */
const ownHeaders = /^(?:host|connection|content-length|content-type|accept-encoding|user-agent|expect|te)$/

/**
 * A command for a POSIX shell that sends the request again. Names the variable of the key, never the key. Undefined if the whole
 * body is not known.
 */
export function curlText(request: RequestDetail, { url, isKeyAsked }: Place): string | undefined {
  const { api, path, stream, request_body: body } = request
  if (path === null || body === null || request.request_body_truncated || body.includes(removed)) return undefined
  const headers = Object.entries(request.request_headers ?? {}).filter(
    ([name]) => !ownHeaders.test(name) && !mayHoldKey.has(name),
  )
  const needsVersion =
    (api === 'messages' || api === 'count_tokens') && !headers.some(([name]) => name === 'anthropic-version')
  return [
    `curl ${quoted(url + path)}`,
    ...(stream ? ['--no-buffer'] : []),
    ...(isKeyAsked ? ['-H "Authorization: Bearer $COPILOT_PROXY_API_KEY"'] : []),
    ...(needsVersion ? ["-H 'anthropic-version: 2023-06-01'"] : []),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    "-H 'Content-Type: application/json'",
    `--data-raw ${quoted(normalised(body))}`,
  ].join(' \\\n  ')
}

/** One line of JSON with control characters escaped, so that a terminal shows them as text. */
function normalised(body: string): string {
  try {
    return visible(JSON.stringify(JSON.parse(body)))
  } catch {
    return visible(body)
  }
}

function quoted(text: string): string {
  return `'${visible(text).replaceAll("'", String.raw`'\''`)}'`
}
