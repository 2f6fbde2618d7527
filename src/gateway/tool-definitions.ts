import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import { isObject } from '../json/json.ts'
import { modelName, readSchema, toolHints } from '../tools/foreign-tools.ts'
import type { ParametersSchema } from '../tools/tool.ts'
import type { ErrorCode } from './messages.ts'

/** A tool as a provider declares it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
  /** What the provider says about the tool. */
  readonly hints: z.infer<typeof toolHints> | undefined
  readonly timeoutMs: number | undefined
}

export type ReadTools =
  | { readonly ok: true; readonly tools: readonly ToolDefinition[] }
  | { readonly ok: false; readonly code: ErrorCode; readonly detail: string }

const maxTools = 100

/** Allows the characters of tool names in model APIs, and the dot of bus methods. */
const namePattern = /^[A-Za-z0-9_.-]{1,64}$/

/** Names of bus methods, and names that JSON-RPC reserves. */
const reservedPattern = /^(?:mcp|rpc)\./

/** Longer timeouts are reduced to this one, because timers overflow after 24 days. Ms. */
const maxTimeoutMs = 60 * 60 * 1000

const definition = z.looseObject({
  name: z.string(),
  description: z.string(),
  parameters: z.custom<ParametersSchema>(isObject, 'must be a JSON Schema'),
  timeout: z.number().positive().optional(),
  annotations: toolHints.optional(),
})

/**
 * Reads the tools of `hello` or `tools.update`. Accepts all of them or none.
 * @param ownerOf names the other owner of a tool whose name for models is the same, if there is one
 */
export function readTools(given: readonly unknown[], ownerOf: (name: string) => string | undefined): ReadTools {
  if (given.length > maxTools) {
    return refuse('PAYLOAD_TOO_LARGE', `A tool program may have at most ${maxTools} tools, got ${given.length}.`)
  }
  const tools: ToolDefinition[] = []
  const seen = new Set<string>()
  const cost = { objects: 0 }
  for (const [index, value] of given.entries()) {
    const checked = checkValue(definition, value)
    if (!checked.ok) {
      const { path, detail } = checked.problem
      return refuse('INVALID_JSON', `${['tools', index, ...path].join('.')} ${detail}.`)
    }
    const { name, description, timeout, annotations, parameters } = checked.value
    if (!namePattern.test(name) || name in {}) {
      const detail =
        'must consist of 1 to 64 of the characters A-Z a-z 0-9 _ . - and must not be a built-in name such as constructor'
      return refuse('INVALID_JSON', `tools.${index}.name ${detail}.`)
    }
    if (reservedPattern.test(name)) {
      return refuse(
        'TOOL_CONFLICT',
        `The name "${name}" starts with mcp. or rpc., which are reserved. Rename the tool.`,
      )
    }
    const owner = seen.has(modelName(name)) ? 'another tool of this provider' : ownerOf(name)
    if (owner !== undefined) {
      return refuse('TOOL_CONFLICT', `The name "${name}" is taken by ${owner}. Rename the tool.`)
    }
    seen.add(modelName(name))
    const schema = readSchema(parameters, cost)
    if (typeof schema === 'string') return refuse('INVALID_JSON', `tools.${index}.parameters (${name}): ${schema}.`)
    tools.push({
      name,
      description,
      parameters: schema,
      hints: annotations,
      timeoutMs: timeout === undefined ? undefined : Math.min(timeout, maxTimeoutMs),
    })
  }
  return { ok: true, tools }
}

function refuse(code: ErrorCode, detail: string): ReadTools {
  return { ok: false, code, detail }
}
