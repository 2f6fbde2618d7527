import { formatError } from './pretty-error.ts'
import { shortCount, shortCredits } from './terminal/short-count.ts'
import type { Style } from './terminal/style.ts'
import { visible } from './terminal/visible.ts'

type Fields = Readonly<Record<string, unknown>>

/** A request in the log, for people, and what of its fields that has not told. */
export interface PrettyRequest {
  readonly text: string
  readonly rest: Fields
}

/** What the places that answer requests say of one that is over. */
const endings: Readonly<Record<string, string>> = {
  'request served': '',
  'request refused': 'refused',
  'request failed': 'failed',
  'stream ended in an error event': 'ended in an error event',
  'the caller left before the answer was complete': 'the caller left',
}

/**
 * `gpt-5-mini → copilot/chat → 200 → first byte 0.4 s → 1.2k in, 340 out → 0.42 credits → 3.1 s`, what is not known
 * left out, then what went wrong, the warnings and the name of the key. A request without a model begins with what was
 * asked, one whose model upstream has chosen with the name that it was asked for. Undefined
 * where the line is about something else.
 */
export function formatRequest(message: string, fields: Fields, style: Style): PrettyRequest | undefined {
  const ending = Object.hasOwn(endings, message) ? endings[message] : undefined
  if (ending === undefined || typeof fields['status'] !== 'number') return undefined
  const {
    model,
    asked,
    chosenFor,
    route,
    status,
    endedAs,
    stream: _stream,
    ttfbMs,
    tokensIn,
    tokensOut,
    tokensCached,
    credits,
    estimated,
    searchCredits,
    ms,
    ...others
  } = fields
  // Of a failure the error names upstream's id.
  const { warnings, key, requestId, error, cause, serviceRequestId: _id, ...rest } = others
  const code = typeof endedAs === 'number' ? endedAs : status
  const steps = [
    typeof chosenFor === 'string' ? visible(chosenFor) : '',
    typeof model === 'string' ? style.bold(visible(model)) : typeof asked === 'string' ? visible(asked) : '',
    typeof route === 'string' ? visible(route) : '',
    (code >= 500 ? style.red : code >= 400 ? style.yellow : style.green)(String(code)),
    typeof ttfbMs === 'number' ? `first byte ${seconds(ttfbMs)}` : '',
    tokens(tokensIn, tokensOut, tokensCached),
    typeof credits === 'number' ? `${shortCredits(credits, estimated === true)} credits` : '',
    typeof searchCredits === 'number' ? `${shortCredits(searchCredits, estimated === true)} for searches` : '',
    typeof ms === 'number' ? seconds(ms) : '',
  ].filter((step) => step !== '')
  const failure = formatError(error)
  const told = listOf(warnings).map((warning) => visible(warning))
  const isPlain = ending === '' && told.length === 0
  const notes = [
    ...(ending === '' ? [] : [style.yellow(failure === '' ? ending : `${ending}: ${failure}`)]),
    ...(told.length === 0 ? [] : [style.yellow(`warnings: ${told.join('; ')}`)]),
    ...(typeof key === 'string' ? [`key ${visible(key)}`] : []),
    // Of what went well nobody looks for more; the JSON form has it.
    ...(typeof requestId === 'string' && !isPlain ? [style.dim(visible(requestId))] : []),
  ]
  const unsaid = {
    ...(failure === '' && error !== undefined && { error }),
    ...(cause !== undefined && { cause: shortCause(cause) }),
  }
  return { text: [steps.join(style.dim(' → ')), ...notes].join('  '), rest: { ...rest, ...unsaid } }
}

/** `SocketError: other side closed (UND_ERR_SOCKET)` of what went wrong elsewhere; a defect of ours keeps all it has. */
function shortCause(cause: unknown): unknown {
  if (typeof cause !== 'object' || cause === null || 'stack' in cause) return cause
  const { name, message, code }: Fields = { ...cause }
  if (typeof name !== 'string' || typeof message !== 'string') return cause
  return `${name}: ${message}${typeof code === 'string' ? ` (${code})` : ''}`
}

/** Warnings of a served request are a list, those of a refused one a header. */
function listOf(warnings: unknown): readonly string[] {
  if (typeof warnings === 'string') return [warnings]
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : []
}

function tokens(read: unknown, written: unknown, cached: unknown): string {
  if (typeof read !== 'number' || typeof written !== 'number') return ''
  const fromCache = typeof cached === 'number' && cached > 0 ? ` (${shortCount(cached)} cached)` : ''
  return `${shortCount(read)} in${fromCache}, ${shortCount(written)} out`
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}
