import type { TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { effortOfTurn } from './turn-effort.ts'
import type { MessagesRequest } from './wire-request.ts'

type Mode = NonNullable<TurnReasoning['mode']>

const MODES: ReadonlyMap<string, Mode> = new Map<string, Mode>([
  ['adaptive', 'adaptive'],
  ['enabled', 'enabled'],
  ['disabled', 'disabled'],
  ['between_tools', 'between_tools'],
])

/** `thinking` and the effort, undefined where neither is stated. */
export function decodeReasoning(request: MessagesRequest, warnings: Warning[]): TurnReasoning | undefined {
  const { thinking, output_config: config, messages } = request
  const effort = effortOfTurn(messages) ?? config?.effort ?? undefined
  const mode = MODES.get(thinking?.type ?? '')
  if (thinking && mode === undefined) {
    warnings.push({ code: 'dropped', field: 'thinking', detail: 'thinking of this type is not known here' })
  }
  if (mode === undefined) return effort === undefined ? undefined : { effort }
  return {
    mode,
    budgetTokens: thinking?.budget_tokens ?? undefined,
    effort,
    summary: summaryOf(mode, thinking?.display),
  }
}

/** `display` is `summarized`, which is what thinking is by default, `updates` or `omitted`. */
function summaryOf(mode: Mode, display: string | null | undefined): string | undefined {
  if (mode === 'disabled') return undefined
  return display === 'omitted' ? 'none' : 'auto'
}
