import { hash } from 'node:crypto'
import { z } from 'zod'
import { isSchema } from './check-arguments.ts'
import { toCurrentDraft } from './schema-drafts.ts'
import type { ParametersSchema, Tool } from './tool.ts'

/** What a tool says about itself. Everything but the exact value that counts as harmless counts as harmful. */
export const toolHints = z.looseObject({
  readOnlyHint: z.boolean().nullish(),
  destructiveHint: z.unknown().optional(),
  openWorldHint: z.unknown().optional(),
})
type ToolHints = z.infer<typeof toolHints>

/**
 * Returns the effect of a tool of a program, and when a person is asked before it. Only a tool that reads, destroys nothing and
 * reaches nothing outside runs unasked; the person can trust a program beyond that.
 */
export function judgeHints(
  hints: ToolHints | null | undefined,
  isTrusted: boolean,
): Required<Pick<Tool, 'effect' | 'asks'>> {
  const { readOnlyHint, destructiveHint, openWorldHint } = hints ?? {}
  const isReading = readOnlyHint === true && (destructiveHint ?? false) === false
  const isClosed = openWorldHint === false
  return {
    effect: isReading ? 'read' : 'run',
    asks: isClosed && (isReading || isTrusted) ? 'never' : isTrusted ? 'after-secret' : 'always',
  }
}

/** Returns why a tool of a program does not run where nobody can be asked, and how the person can change that. */
export function nobodyAsked(tool: Tool): string {
  return `Nothing was called, because nobody can be asked here. ${whyAsked(tool)}`
}

/** Returns why a person is asked before a tool of a program, and how the person can change that. */
export function whyAsked({ provider = '', asks, trustedBy = 'trust it' }: Tool): string {
  const program = JSON.stringify(provider)
  if (asks === 'after-secret') return `A secret was read before, and this tool of ${program} may reach the outside.`
  return (
    `A tool of ${program} runs without a question only if it says readOnlyHint: true, openWorldHint: false and not ` +
    `destructiveHint: true, or if the user trusts ${program}: ${trustedBy} in the configuration of copilot-proxy.`
  )
}

/** Returns a text that differs for two tools whose program or definition differs. */
export function identify(...parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts))
}

/** Limits of one schema: compiling takes up to 0.3 ms for each of its objects. */
const schemaLimits = { characters: 64 * 1024, objects: 500, depth: 64 } as const

/** Returns a tool's name for models. Two tools of a session must not have the same one. */
export function modelName(name: string): string {
  return name.replace(/^mcp\./, '').replaceAll('.', '_')
}

/** Limit of all schemas in one message, which blocks the event loop for about 60 ms. */
const maxListObjects = 5000

/** The sum of objects and arrays in the schemas of a list so far. */
export interface SchemaCost {
  objects: number
}

/**
 * Returns a schema of an object that is quick to check, or a text that states the problem.
 * @param total the sum for all schemas of the message
 */
export function readSchema(given: ParametersSchema, total: SchemaCost = { objects: 0 }): ParametersSchema | string {
  const translated = toCurrentDraft(given, schemaLimits.depth)
  if (translated['type'] !== undefined && translated['type'] !== 'object') return 'the type must be "object"'
  const schema = { ...translated, type: 'object' }
  const cost = { objects: 0 }
  const problem = findProblem(schema, cost, 0)
  if (problem !== undefined) return problem
  total.objects += cost.objects
  if (total.objects > maxListObjects) return `all schemas together have more than ${maxListObjects} objects and arrays`
  if (JSON.stringify(schema).length > schemaLimits.characters) {
    return `it has more than ${schemaLimits.characters} characters`
  }
  return isSchema(schema) ? schema : 'it is not a valid JSON Schema'
}

function findProblem(value: unknown, cost: { objects: number }, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  cost.objects += 1
  if (depth > schemaLimits.depth) return `it has more than ${schemaLimits.depth} levels`
  if (cost.objects > schemaLimits.objects) return `it has more than ${schemaLimits.objects} objects and arrays`
  for (const [key, inner] of Object.entries(value)) {
    const isReference = key === '$ref' || key === '$dynamicRef'
    if (isReference && typeof inner === 'string' && !inner.startsWith('#')) {
      return 'a reference may lead to a part of the same schema only ("#/…")'
    }
    const problem = findProblem(inner, cost, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}
