import { warnLimits } from '../limit-betas.ts'
import { isObject } from '../../../json/json.ts'
import { encodeHeaders, sentBetas } from '../sent-request.ts'
import { hasBeta, isOfBeta } from './rule.ts'
import type { Draft, Outcome, Rule } from './rule.ts'
import type { Target } from './target.ts'

export const BINDING_BETA = 'thinking-binding-controls-2026-08-01'
const TOOL_SEARCH_BETA = 'advanced-tool-use-2025-11-20'
export const CACHE_TTL_BETA = 'extended-cache-ttl-2025-04-11'
const INTERLEAVED_THINKING_BETA = 'interleaved-thinking-2025-05-14'

/** Betas that GitHub's own clients send. Upstream refuses most others. */
const FORWARDED = ['interleaved-thinking', 'advanced-tool-use', 'context-management', 'extended-cache-ttl']

export const betaRules: readonly Rule[] = [
  {
    name: 'betas filtered',
    source: 'messages, betas',
    adapt: ({ headers }, target) => {
      const betas = sentBetas(headers)
      const kept = [...new Set(betas)].filter((beta) => isForwarded(beta, target))
      return kept.length === betas.length
        ? undefined
        : { headers: encodeHeaders(kept), warnings: warnLimits(betas, target.traits) }
    },
  },
  {
    name: 'tool search beta added',
    source: 'messages, tool search',
    adapt: (draft, target) => {
      const searches = draft.body.tools?.some(({ type }) => type?.startsWith('tool_search_tool_')) === true
      return searches ? withBeta(draft, TOOL_SEARCH_BETA, target) : undefined
    },
  },
]

/** Runs after every rule that changes `thinking`. */
export const contextManagementRules: readonly Rule[] = [
  {
    name: 'interleaved thinking beta added',
    source: 'messages, betas; clients of other dialects have no beta to send',
    adapt: (draft, target) =>
      draft.made !== undefined && draft.body.thinking?.type === 'enabled'
        ? withBeta(draft, INTERLEAVED_THINKING_BETA, target)
        : undefined,
  },
  {
    name: 'context_management without its beta dropped',
    source: 'messages, context management',
    adapt: (draft, { traits }) => {
      if (draft.body.context_management === undefined || hasBeta(draft, 'context-management')) return undefined
      const isUnknown = traits.supports.contextEditing === false
      const detail = isUnknown ? `not supported by ${traits.id}` : 'not supported without its anthropic-beta header'
      return {
        patch: { context_management: undefined },
        warnings: [{ code: 'dropped', field: 'context_management', detail }],
      }
    },
  },
  {
    name: 'context edits upstream cannot make dropped',
    source:
      'Anthropic API reference, context editing, 2026-11: clear_thinking needs thinking, compact needs a beta of its own',
    adapt: ({ body }) => {
      const management = body.context_management
      const edits: unknown = management?.['edits']
      if (!Array.isArray(edits)) return undefined
      const thinks = body.thinking?.type === 'enabled' || body.thinking?.type === 'adaptive'
      const kept = edits.filter((edit: unknown) => {
        const type = typeOf(edit)
        return !type.startsWith('compact_') && (thinks || !type.startsWith('clear_thinking_'))
      })
      if (kept.length === edits.length) return undefined
      const compacts = edits.some((edit: unknown) => typeOf(edit).startsWith('compact_'))
      return {
        patch: { context_management: kept.length === 0 ? undefined : { ...management, edits: kept } },
        // Without thinking there is nothing that the edit could clear.
        warnings: compacts
          ? [{ code: 'dropped', field: 'context_management.edits', detail: 'compaction is not supported by Copilot' }]
          : [],
      }
    },
  },
]

/** '' for a value that is not an edit. */
function typeOf(edit: unknown): string {
  return isObject(edit) && typeof edit['type'] === 'string' ? edit['type'] : ''
}

/** Undefined if the request already has the beta, or upstream has refused it. */
export function withBeta(draft: Draft, beta: string, target: Target): Outcome | undefined {
  const betas = sentBetas(draft.headers)
  if (betas.includes(beta) || target.refusedBetas.has(beta) || isRuledOut(beta, target)) return undefined
  return { headers: encodeHeaders([...betas, beta]), warnings: [] }
}

function isForwarded(beta: string, target: Target): boolean {
  if (target.refusedBetas.has(beta) || !FORWARDED.some((name) => isOfBeta(beta, name))) return false
  return !isRuledOut(beta, target)
}

/** The model list shows that the beta has no effect. */
function isRuledOut(beta: string, { thinking, traits: { supports } }: Target): boolean {
  if (isOfBeta(beta, 'advanced-tool-use')) return supports.toolSearch === false
  if (isOfBeta(beta, 'context-management')) return supports.contextEditing === false
  // Adaptive thinking interleaves by itself.
  return isOfBeta(beta, 'interleaved-thinking') && (thinking === 'adaptive' || thinking === 'both')
}
