import { z } from 'zod'
import { checkValue } from '../../json/check-value.ts'
import { isObject } from '../../json/json.ts'
import { readSchema } from '../../tools/foreign-tools.ts'
import type { ParametersSchema } from '../../tools/tool.ts'

export interface ServerTool {
  /** The name that the server uses. */
  readonly given: string
  /** The name with the prefix of the server, and with `_` for characters that model APIs refuse. */
  readonly name: string
  readonly description: string
  readonly parameters: ParametersSchema
  /** Whether the server declares that the tool changes nothing. */
  readonly isReadOnly: boolean
}

/** Maximum number of tools of one server. */
const maxTools = 200
const maxName = 64
const maxDescription = 4000

const definition = z.looseObject({
  name: z.string().min(1).max(200),
  description: z.string().nullish(),
  inputSchema: z.custom<ParametersSchema>(isObject, 'must be a JSON Schema'),
  annotations: z.looseObject({ readOnlyHint: z.boolean().nullish() }).nullish(),
})

/** Returns the usable tools of a list, and the problems of the others. */
export function readTools(given: readonly unknown[], prefix: string) {
  const tools = new Map<string, ServerTool>()
  const problems: string[] = []
  for (const value of given) {
    const checked = checkValue(definition, value)
    if (!checked.ok) {
      const { path, detail } = checked.problem
      problems.push(`a tool has an invalid definition: ${path.join('.') || 'it'} ${detail}`)
      continue
    }
    const { name: own, description, inputSchema, annotations } = checked.value
    const name = `${prefix}_${own.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, maxName)
    const quoted = JSON.stringify(own.slice(0, maxName))
    const parameters = readSchema(inputSchema)
    if (tools.size >= maxTools) {
      problems.push(`it has more than ${maxTools} tools`)
      break
    }
    if (tools.has(name)) problems.push(`another tool has the name of ${quoted}`)
    else if (typeof parameters === 'string') problems.push(`the parameters of ${quoted} cannot be used: ${parameters}`)
    else {
      tools.set(name, {
        given: own,
        name,
        description: (description ?? '').slice(0, maxDescription),
        parameters,
        isReadOnly: annotations?.readOnlyHint === true,
      })
    }
  }
  return { tools: [...tools.values()], problems }
}
