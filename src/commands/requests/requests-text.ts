import { curlCommand, isOfHttp } from '../../page/static/curl-command.js'
import { creditsOf, requestFacts } from '../../page/static/request-words.js'
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
  const credits = creditsOf(request)
  return credits === null ? '' : shortCredits(credits, request.estimated)
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
  const { warnings, adapted, answer_body: answer } = request
  const pairs: readonly (readonly [string, string])[] = [
    ...requestFacts(request, {
      time: (time) => new Date(time).toString().replace(/ \(.*$/, ''),
      count: String,
      credits: (credits) => shortCredits(credits, request.estimated),
      duration: shortMs,
    }),
    ...warnings.map((warning, at) => [at === 0 ? 'Warnings' : '', warning] as const),
    ...adapted.map((change, at) => [at === 0 ? 'Adapted' : '', change] as const),
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

/** How to send the request again. Undefined for requests of a program in the daemon, for example the agent. */
function repeatText(request: RequestDetail, place: Place): string | undefined {
  if (!isOfHttp(request)) return undefined
  const curl = curlCommand(request, place)
  if (curl !== undefined) return `Repeat it:\n${curl}\n`
  if (request.request_body?.includes('[redacted]')) {
    return 'No command repeats this request, because its body has a credential, which is not stored.\n'
  }
  return request.request_body_truncated
    ? 'No command repeats this request, because its body was too long to store.\n'
    : 'No command repeats this request, because its body was not stored. To store bodies: copilot-proxy config set log.bodies true\n'
}
