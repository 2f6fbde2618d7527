import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { trustPatterns } from './check-arguments.ts'
import type { Tool, ToolContext, ToolEffect, ToolResult } from './tool.ts'

interface Definition<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly effect: ToolEffect
  readonly timeoutMs?: number
  readonly run: (args: z.output<Schema>, context: ToolContext) => Promise<ToolResult>
}

/** Creates a tool and derives its JSON Schema from `schema`. */
export function defineTool<Schema extends z.ZodObject>(schema: Schema, definition: Definition<Schema>): Tool {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
  return {
    ...definition,
    parameters: trustPatterns(parameters),
    // The registry has checked the arguments against `parameters`. This checks rules that JSON Schema lacks, and infers types.
    async run(args: unknown, context) {
      const checked = checkValue(schema, args)
      if (checked.ok) return definition.run(checked.value, context)
      const { path, detail } = checked.problem
      throw new ToolError({ kind: 'invalid_arguments', path: path.join('.'), detail: `The argument ${detail}.` })
    },
  }
}
