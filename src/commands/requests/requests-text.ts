import { shortCount, shortCredits, shortMs } from '../../terminal/format.ts'
import type { Output, Style } from '../../terminal/output.ts'
import { formatPairs, padText, textWidth } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import type { RequestDetail, RequestDocument } from '../../usage/requests.ts'

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

function noteLine({ error, warnings }: RequestDocument, { columns: width, style }: Screen): string {
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
  return [
    shown,
    `${curlNote(request)}\n${curlText(request, place)}\n`,
    ...(answer === null ? [] : [`Answer${isCut}:\n${answerLines}`]),
  ].join('\n')
}

function curlNote({ method, request_body: body, request_body_truncated: isCut }: RequestDetail): string {
  // A GET request has no body.
  if (method === 'GET' || (body !== null && !isCut)) return 'Repeat it:'
  const reason = isCut
    ? 'The body of this request was too long to store.'
    : 'The body of this request was not stored, because log.bodies was off.'
  return `${reason} This command sends a short message instead:`
}

/** The members that a request needs beside its model, by API. */
const placeholders: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hello' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  count_tokens: { messages: [{ role: 'user', content: 'Hello' }] },
  responses: { input: 'Hello' },
  embeddings: { input: 'Hello' },
}

/** A command for a POSIX shell. Names the variable of the key, never the key. */
export function curlText(request: RequestDetail, { url, isKeyAsked }: Place): string {
  const { api, method, path, asked_model: asked, model, stream } = request
  const placeholder = api === null || !Object.hasOwn(placeholders, api) ? undefined : placeholders[api]
  const whole = request.request_body_truncated ? null : request.request_body
  const spare = placeholder && { model: asked ?? model ?? 'gpt-5-mini', ...(stream && { stream }), ...placeholder }
  const body = whole === null ? spare && JSON.stringify(spare) : normalised(whole)
  const lines = [
    `curl ${quoted(url + (path ?? '/v1/chat/completions'))}`,
    ...(method === null || method === 'GET' || (method === 'POST' && body !== undefined)
      ? []
      : [`-X ${quoted(method)}`]),
    ...(stream ? ['--no-buffer'] : []),
    ...(isKeyAsked ? ['-H "Authorization: Bearer $COPILOT_PROXY_API_KEY"'] : []),
    ...(api === 'messages' || api === 'count_tokens' ? ["-H 'anthropic-version: 2023-06-01'"] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `--data-raw ${quoted(body)}`]),
  ]
  return lines.join(' \\\n  ')
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
