import { Fault } from '../errors.ts'

/** What happened to something the caller sent. */
export type WarningCode =
  /** Sent in another spelling; means the same. */
  | 'adapted'
  /** Done here in place of upstream, which has nothing like it. */
  | 'emulated'
  /** Left out. */
  | 'dropped'
  /** Replaced by the nearest the model takes. */
  | 'clamped'
  /** Reasoning of another vendor, or in a form upstream cannot check, was left out. */
  | 'thinking_dropped'
  | 'compaction_dropped'
  /** A schema keyword upstream refuses was taken out. */
  | 'schema_simplified'
  /** A grammar is told to the model in words only. */
  | 'grammar_not_enforced'
  /** `json_object` is asked for in words only. */
  | 'json_hinted'
  | 'duplicate_tool_dropped'
  | 'tool_result_synthesised'
  | 'tool_result_orphan_dropped'
  | 'tool_result_moved'
  /** `chat.history-window` left out older messages. */
  | 'history_cut'
  /** Upstream chose no model for `auto`; its default answers. */
  | 'auto_unavailable'
  /** Upstream refused it once; it was sent again without. */
  | 'refused_upstream'

/** One thing that could not be carried over as it came. */
export interface Warning {
  readonly code: WarningCode
  /** In the caller's own words, with dots: `tools.3.input_schema`, `temperature`; an id for tool results. */
  readonly field: string
  /** A sentence for the log, without anything the caller wrote. */
  readonly detail?: string | undefined
}

/** Codes whose answer may differ from what was asked for; under `chat.strict` they are refusals. */
const lossy: ReadonlySet<WarningCode> = new Set([
  'dropped',
  'clamped',
  'schema_simplified',
  'grammar_not_enforced',
  'json_hinted',
  'duplicate_tool_dropped',
])

/**
 * @param mandatory fields that no caller of the dialect can leave out: to drop one is no reason to refuse
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

/** For the log: what the header says, and why. */
export function describeWarning(warning: Warning): string {
  const { detail } = warning
  return detail === undefined ? formatWarning(warning) : `${formatWarning(warning)} (${detail})`
}

/** As in the header `x-copilot-proxy-warnings`: `dropped;temperature`. */
export function formatWarning({ code, field }: Warning): string {
  return `${code};${field}`
}
