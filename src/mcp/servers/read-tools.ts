import { z } from 'zod'
import { checkValue } from '../../json/check-value.ts'
import { isObject } from '../../json/json.ts'
import { judgeHints, readSchema, toolHints } from '../../tools/foreign-tools.ts'
import { maxForModels, toModelName, type StableNames } from '../../tools/model-names.ts'
import type { ParametersSchema, Tool } from '../../tools/tool.ts'

export interface ServerTool extends Required<Pick<Tool, 'effect' | 'asks'>> {
  /** The name that the server uses. */
  readonly given: string
  /** The name with the prefix of the server, and with `_` for characters that model APIs refuse. */
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
}

/** Maximum number of tools of one server. */
const maxTools = 200
const maxDescription = 4000

const definition = z.looseObject({
  name: z.string().min(1).max(200),
  description: z.string().nullish(),
  inputSchema: z.custom<ParametersSchema>(isObject, 'must be a JSON Schema'),
  annotations: toolHints.nullish(),
})

export interface ReadToolsOptions {
  readonly prefix: string
  /** The names that the server's tools have had so far. */
  readonly names: StableNames
  readonly isTrusted: boolean
}

/** Returns the usable tools of a list, and the problems of the others. */
export function readTools(given: readonly unknown[], { prefix, names, isTrusted }: ReadToolsOptions) {
  const tools = new Map<string, ServerTool>()
  const problems: string[] = []
  // A name without replaced characters belongs to the tool that has it, wherever that tool is in the list.
  for (const value of given.slice(0, maxTools)) {
    const own = definition.safeParse(value).data?.name
    if (own !== undefined && toModelName(own) === own) names.take(own, `${prefix}_${own}`)
  }
  for (const value of given) {
    const checked = checkValue(definition, value)
    if (!checked.ok) {
      const { path, detail } = checked.problem
      problems.push(`a tool has an invalid definition: ${path.join('.') || 'it'} ${detail}`)
      continue
    }
    const { name: own, description, inputSchema, annotations } = checked.value
    const name = names.take(own, `${prefix}_${toModelName(own)}`)
    const quoted = JSON.stringify(own.slice(0, maxForModels))
    const parameters = readSchema(inputSchema)
    if (tools.size >= maxTools) {
      problems.push(`it has more than ${maxTools} tools`)
      break
    }
    if (tools.has(name)) problems.push(`it has two tools named ${quoted}`)
    else if (typeof parameters === 'string') problems.push(`the parameters of ${quoted} cannot be used: ${parameters}`)
    else {
      tools.set(name, {
        given: own,
        name,
        description: (description ?? '').slice(0, maxDescription),
        parameters,
        ...judgeHints(annotations, isTrusted),
      })
    }
  }
  return { tools: [...tools.values()], problems }
}
