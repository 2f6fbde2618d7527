import { Fault } from '../errors.ts'

/** The kinds of changes to a request. */
export type WarningCode =
  /** Sent in another form with the same meaning. */
  | 'adapted'
  /** The proxy does it, because upstream cannot. */
  | 'emulated'
  /** Left out. */
  | 'dropped'
  /** Replaced by the nearest value that the model takes. */
  | 'clamped'
  /** Left out reasoning of another vendor, or in a form that upstream cannot verify. */
  | 'thinking_dropped'
  | 'compaction_dropped'
  /** Removed a schema keyword that upstream refuses. */
  | 'schema_simplified'
  /** The tool's description contains the grammar; upstream does not enforce it. */
  | 'grammar_not_enforced'
  /** The prompt asks for JSON; upstream does not enforce it. */
  | 'json_hinted'
  | 'duplicate_tool_dropped'
  | 'tool_result_synthesised'
  | 'tool_result_orphan_dropped'
  | 'tool_result_moved'
  /** Left out older messages, as `chat.history-window` asks. */
  | 'history_cut'
  /** Upstream chose no model for `auto`; the default model answers. */
  | 'auto_unavailable'
  /** The owner's budget of this setting is nearly used up. */
  | 'budget'
  /** Upstream refused the request with it; the proxy repeated the request without it. */
  | 'refused_upstream'

/** Something in a request that the proxy could not carry over unchanged. */
export interface Warning {
  readonly code: WarningCode
  /** The caller's field with dots: `tools.3.input_schema`, `temperature`; for tool results, the call's id. */
  readonly field: string
  /** For the log; contains nothing that the caller wrote. */
  readonly detail?: string | undefined
}

/** Codes after which the answer may differ from the one asked for; `chat.strict` refuses such requests. */
const lossy: ReadonlySet<WarningCode> = new Set([
  'dropped',
  'clamped',
  'schema_simplified',
  'grammar_not_enforced',
  'json_hinted',
  'duplicate_tool_dropped',
])

/** Whether the model gets all that the caller asked for, in another form. The log states such warnings at debug only. */
export function isLossless({ code }: Warning): boolean {
  return code === 'adapted' || code === 'emulated'
}

/**
 * @param mandatory fields that every request of the dialect must have: dropping one is no reason to refuse
 * @throws Fault `invalid_request` naming the first field whose loss `chat.strict` forbids
 */
export function refuseLosses(warnings: readonly Warning[], mandatory: ReadonlySet<string> = new Set()): void {
  const first = warnings.find(({ code, field }) => lossy.has(code) && !(code === 'dropped' && mandatory.has(field)))
  if (first === undefined) return
  throw new Fault({
    kind: 'invalid_request',
    path: first.field,
    detail: `${first.detail ?? `it would be ${first.code.replaceAll('_', ' ')}`} (refused because chat.strict is on)`,
    code: 'unsupported_value',
  })
}

/** For the log: the header's text and the detail. */
export function describeWarning(warning: Warning): string {
  const { detail } = warning
  return detail === undefined ? formatWarning(warning) : `${formatWarning(warning)} (${detail})`
}

/** As in the header `x-copilot-proxy-warnings`: `dropped;temperature`. */
export function formatWarning({ code, field }: Warning): string {
  return `${code};${field}`
}

/** Drops repeated warnings: two blocks of one message often cause the same one. The later detail stays. */
export function distinct(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length < 2) return warnings
  return [...new Map(warnings.map((warning) => [formatWarning(warning), warning])).values()]
}
