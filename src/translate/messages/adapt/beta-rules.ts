import { isObject } from '../../parts/is-object.ts'
import { warnLimits } from '../limit-betas.ts'
import { hasBeta, isOfBeta, type Draft, type Outcome, type Rule } from './rule.ts'
import type { Target } from './target.ts'

const TOOL_SEARCH_BETA = 'advanced-tool-use-2025-11-20'
export const CACHE_TTL_BETA = 'extended-cache-ttl-2025-04-11'
export const INTERLEAVED_THINKING_BETA = 'interleaved-thinking-2025-05-14'

/** Those that GitHub's own clients send; upstream validates the list and refuses most others. */
const FORWARDED = ['interleaved-thinking', 'advanced-tool-use', 'context-management', 'extended-cache-ttl']

export const betaRules: readonly Rule[] = [
  {
    name: 'betas filtered',
    source: 'messages, betas',
    adapt: ({ betas }, target) => {
      const kept = [...new Set(betas)].filter((beta) => isForwarded(beta, target))
      return kept.length === betas.length ? undefined : { betas: kept, warnings: warnLimits(betas, target.traits) }
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

/** Runs last but for the cache marks: what other rules make of `thinking` decides. */
export const contextManagementRules: readonly Rule[] = [
  {
    name: 'context_management without its beta dropped',
    source: 'messages, context management',
    adapt: (draft, { traits }) => {
      if (draft.body.context_management === undefined || hasBeta(draft, 'context-management')) return undefined
      return dropContextManagement(
        traits.supports.contextEditing === false
          ? `not supported by ${traits.id}`
          : 'it is taken only together with its beta',
      )
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
        // Thinking that is off leaves nothing to clear.
        warnings: compacts
          ? [{ code: 'dropped', field: 'context_management.edits', detail: 'compaction is not supported by Copilot' }]
          : [],
      }
    },
  },
]

/** '' for an edit that is none. */
function typeOf(edit: unknown): string {
  return isObject(edit) && typeof edit['type'] === 'string' ? edit['type'] : ''
}

function dropContextManagement(detail: string): Outcome {
  return {
    patch: { context_management: undefined },
    warnings: [{ code: 'dropped', field: 'context_management', detail }],
  }
}

/** Undefined where it is there already, or where upstream has refused it. */
export function withBeta(draft: Draft, beta: string, target: Target): Outcome | undefined {
  if (draft.betas.includes(beta) || target.lessons.betas.has(beta) || isRuledOut(beta, target)) return undefined
  return { betas: [...draft.betas, beta], warnings: [] }
}

function isForwarded(beta: string, target: Target): boolean {
  if (target.lessons.betas.has(beta) || !FORWARDED.some((name) => isOfBeta(beta, name))) return false
  return !isRuledOut(beta, target)
}

/** The model list says that it would be of no use. */
function isRuledOut(beta: string, { thinking, traits: { supports } }: Target): boolean {
  if (isOfBeta(beta, 'advanced-tool-use')) return supports.toolSearch === false
  if (isOfBeta(beta, 'context-management')) return supports.contextEditing === false
  // Adaptive thinking interleaves by itself.
  return isOfBeta(beta, 'interleaved-thinking') && (thinking === 'adaptive' || thinking === 'both')
}
