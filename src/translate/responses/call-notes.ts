import type { CallNotes } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { offeredTools } from './chatgpt-tools.ts'

/**
 * The wrapper for several calls that models make up: nobody declares it, it is of the way they were trained
 * (docs/codex-wire.md, "Request body").
 */
const wrappers: ReadonlySet<unknown> = new Set(['parallel', 'multi_tool_use.parallel'])

export function isWrapperName(name: unknown): boolean {
  return wrappers.has(name)
}

const nothing: ReadonlySet<string> = new Set()

/**
 * What the reply has to know of the request; undefined where its calls are what they say.
 * @param grouped as in `CallNotes`
 */
export function callNotes({ tools, input }: JsonObject, grouped: ReadonlySet<string> = nothing): CallNotes | undefined {
  const hasWrapper = offeredTools(tools, input).some(({ name }) => isWrapperName(name))
  return hasWrapper || grouped.size > 0 ? { grouped, hasWrapper } : undefined
}
