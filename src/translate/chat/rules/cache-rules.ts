import type { Warning } from '../../warning.ts'
import { fieldOf } from '../../engine/origin.ts'
import { firstWarnings, type Rule } from './rule.ts'

/** Anthropic's limit for one request (docs/copilot-wire.md, "Parameters by model"). */
const MOST_MARKS = 4

/**
 * The last marks cover the most, and stay. Marks that a caller of another dialect sent for Claude do not go to other models.
 */
export const cacheMarksRule: Rule = {
  name: 'at most four cache marks',
  source: 'parameters, cache marks; caching, /chat/completions to Claude',
  adapt: ({ body, made }, { family }) => {
    const { messages } = body
    const tools = body.tools ?? []
    const most = made === undefined || family.kind === 'claude' ? MOST_MARKS : 0
    const detail = `at most ${MOST_MARKS} cache marks are accepted`
    const warnings: Warning[] = []
    const ofMessages = positionsOfMarks(messages)
    const ofTools = positionsOfMarks(tools)
    const keptMessages = lastOf(ofMessages, most)
    const keptTools = lastOf(ofTools, most - keptMessages.size)
    if (keptMessages.size === ofMessages.length && keptTools.size === ofTools.length) return undefined
    const bare = <Element extends object>(element: Element, at: number, member: string, kept: ReadonlySet<number>) => {
      if (!isMarked(element) || kept.has(at)) return element
      warnings.push({ code: 'adapted', field: fieldOf(element, member, at, '.copilot_cache_control'), detail })
      return { ...element, copilot_cache_control: undefined }
    }
    const patch = {
      ...(keptTools.size < ofTools.length && { tools: tools.map((tool, at) => bare(tool, at, 'tools', keptTools)) }),
      messages: messages.map((message, at) => bare(message, at, 'messages', keptMessages)),
    }
    return { patch, warnings: firstWarnings(warnings) }
  },
}

function isMarked(element: object): boolean {
  return 'copilot_cache_control' in element && Boolean(element.copilot_cache_control)
}

function positionsOfMarks(elements: readonly object[]): readonly number[] {
  return elements.flatMap((element, at) => (isMarked(element) ? [at] : []))
}

function lastOf(positions: readonly number[], most: number): ReadonlySet<number> {
  return new Set(positions.slice(Math.max(0, positions.length - most)))
}
