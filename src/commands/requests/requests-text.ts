import { mayHoldKey } from '../../redaction/key-headers.ts'
import { shortCount, shortCredits, shortMs } from '../../terminal/format.ts'
import type { Output, Style } from '../../terminal/output.ts'
import { formatPairs, padText, textWidth } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import type { RequestDetail, RequestDocument } from '../../api/requests.ts'

type Screen = Pick<Output, 'columns' | 'style'>

interface Column {
  readonly title: string
  /** The least width. */
  readonly width: number
  readonly align?: 'right'
  readonly cell: (request: RequestDocument, nowMs: number) => string
}

const columns: readonly Column[] = [
  { title: 'TIME', width: 8, cell: ({ time }, nowMs) => shortTime(time, nowMs) },
  { title: 'ID', width: 8, cell: ({ id }) => id.slice(0, 8) },
  { title: 'CLIENT', width: 10, cell: ({ client }) => client ?? '-' },
  { title: 'KEY', width: 12, cell: ({ key }) => key ?? '-' },
  { title: 'MODEL', width: 17, cell: ({ model, asked_model: asked }) => model ?? asked ?? '-' },
  { title: 'ROUTE', width: 17, cell: ({ route }) => route ?? '-' },
  { title: 'STATUS', width: 6, cell: ({ status }) => String(status) },
  { title: 'IN', width: 5, align: 'right', cell: ({ input_tokens: tokens }) => countText(tokens) },
  { title: 'CACHED', width: 6, align: 'right', cell: ({ cached_input_tokens: tokens }) => countText(tokens) },
  { title: 'OUT', width: 5, align: 'right', cell: ({ output_tokens: tokens }) => countText(tokens) },
  { title: 'CREDITS', width: 7, align: 'right', cell: (request) => creditsText(request) },
  { title: 'FIRST', width: 6, align: 'right', cell: ({ first_byte_ms: ms }) => msText(ms) },
  { title: 'TOOK', width: 6, align: 'right', cell: ({ duration_ms: ms }) => msText(ms) },
]

/** Columns to leave out, one after the other, until the line fits the screen. */
const leastFirst = ['ROUTE', 'FIRST', 'CACHED', 'KEY', 'CREDITS', 'CLIENT', 'OUT', 'IN', 'TOOK', 'ID']

/** Made wider for long cells, one after the other, while the line fits. */
const widened = ['MODEL', 'CLIENT', 'KEY', 'ROUTE']

/** The columns that fit the screen, with their widths. Made once, so that the rows of `--follow` line up. */
export type RequestsLayout = readonly Column[]

/** @param rows whose cells the columns have to fit */
export function layoutRequests(
  rows: readonly RequestDocument[],
  nowMs: number,
  { columns: width }: Screen,
): RequestsLayout {
  const lineLength = (shown: RequestsLayout): number => shown.reduce((sum, column) => sum + column.width + 1, -1)
  const fitting = leastFirst.reduce(
    (shown, title) => (lineLength(shown) <= width ? shown : shown.filter((column) => column.title !== title)),
    columns,
  )
  return widened.reduce<RequestsLayout>((shown, title) => {
    const spare = width - lineLength(shown)
    return shown.map((column) => {
      if (column.title !== title) return column
      const wanted = Math.max(column.width, ...rows.map((row) => textWidth(visible(column.cell(row, nowMs)))))
      return { ...column, width: Math.min(wanted, column.width + spare) }
    })
  }, fitting)
}

export function requestsHead(layout: RequestsLayout, { style }: Screen): string {
  const titles = layout.map(({ title, width, align }) => padText(title, width, align))
  return `${style.bold(titles.join(' ').trimEnd())}\n`
}

/** A line for each request; below a failed one the error, below others their warnings. */
export function requestsRows(
  rows: readonly RequestDocument[],
  nowMs: number,
  layout: RequestsLayout,
  screen: Screen,
): string {
  return rows
    .map((request) => {
      const paint = paintOf(request, screen.style)
      const cells = layout.map((column) => {
        const text = clip(visible(column.cell(request, nowMs)), column.width)
        const padded = padText(text, column.width, column.align)
        return column.title === 'STATUS' ? paint(padded) : padded
      })
      return `${cells.join(' ').trimEnd()}\n${noteLine(request, screen)}`
    })
    .join('')
}

const indent = '         '

/** Warnings that every request of a conversation repeats are shown once. */
function noteLine(request: RequestDocument, { columns: width, style }: Screen): string {
  const { error, repeated_warnings: repeated } = request
  const warnings = request.warnings.filter((warning) => !repeated.includes(warning))
  const text = error ?? (warnings.length === 0 ? '' : `warnings: ${warnings.join('; ')}`)
  return text === '' ? '' : `${indent}${style.dim(clip(visible(text), width - indent.length))}\n`
}

function clip(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = text.slice(0, Math.max(0, width - 1))
  while (textWidth(kept) > width - 1 && kept !== '') kept = kept.slice(0, -1)
  return `${kept}…`
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
