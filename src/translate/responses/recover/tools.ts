import type { UpstreamRefusal } from '../../dialect.ts'
import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { isFilled, objectsOf } from '../../parts/wire-json.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../item-types.ts'
import { NO_CUSTOM_TOOLS, NO_NAMESPACES, toolLesson } from '../lessons.ts'
import { wireKind } from '../pass-tools.ts'
import type { Outcome } from './outcome.ts'

/** What helps against the refusal of a kind of tool, or of the items such tools bring. */
const kindLessons: ReadonlyMap<string, string> = new Map([
  ['namespace', NO_NAMESPACES],
  ['additional_tools', NO_NAMESPACES],
  ['custom', NO_CUSTOM_TOOLS],
  ['custom_tool_call', NO_CUSTOM_TOOLS],
  ['custom_tool_call_output', NO_CUSTOM_TOOLS],
])

/** Tools a conversation can do without; of others the caller is told that they are refused. */
const optionalKinds: ReadonlySet<string> = new Set(['web_search', 'image_generation', 'tool_search'])

const REFUSES =
  /not supported|unsupported|invalid value|not allowed|not permitted|unknown|unrecognized|does not support/i

export function withoutToolKind(body: JsonObject, refusal: UpstreamRefusal): Outcome | undefined {
  const kind = refusedKind(body, refusal)
  if (kind === undefined) return undefined
  const lesson = kindLessons.get(kind)
  if (lesson !== undefined) return { lesson }
  const tools = objectsOf(body['tools'])
  const kept = tools.filter(({ type }) => typeof type !== 'string' || wireKind(type) !== kind)
  if (kept.length === tools.length) return undefined
  const { tools: _tools, tool_choice: choice, parallel_tool_calls: parallel, ...rest } = body
  const warnings: Warning[] = [{ code: 'refused_upstream', field: 'tools', detail: `upstream has no ${kind} tool` }]
  if (kept.length === 0) return { body: rest, lesson: toolLesson(kind), warnings }
  const keepsChoice =
    choice !== undefined &&
    !(isObject(choice) && typeof choice['type'] === 'string' && wireKind(choice['type']) === kind)
  return {
    body: {
      ...rest,
      tools: kept,
      ...(keepsChoice && { tool_choice: choice }),
      ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    },
    lesson: toolLesson(kind),
    warnings,
  }
}

/** The kind of tool that the refusal is about, among those the body holds. */
function refusedKind(body: JsonObject, { message, param }: UpstreamRefusal): string | undefined {
  if (!REFUSES.test(message)) return undefined
  // What follows names the kinds that would do.
  const [told = ''] = message.split(/supported values\b/i, 1)
  const words = new Set(told.replaceAll('web search', 'web_search').match(/[A-Za-z_]+/g))
  const tools = objectsOf(body['tools'])
  const offered = tools.flatMap(({ type }) => (isFilled(type) ? [wireKind(type)] : []))
  const input = objectsOf(body['input'])
  const items = input.map((item) => itemTypeOf(item) ?? '')
  if (input.some(({ namespace }) => isFilled(namespace))) items.push('namespace')
  const kinds = [...offered, ...items].filter((kind) => kindLessons.has(kind) || optionalKinds.has(kind))
  const named = kinds.find((kind) => words.has(kind))
  if (named !== undefined) return named
  const at = /^tools\[(\d+)\](?:\.type)?$/.exec(param ?? '')?.[1]
  const type = at === undefined ? undefined : tools[Number(at)]?.['type']
  const kind = typeof type === 'string' ? wireKind(type) : ''
  return kinds.includes(kind) ? kind : undefined
}
