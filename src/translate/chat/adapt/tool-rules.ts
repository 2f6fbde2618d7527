import { refuseTooManyTools } from '../../parts/tool-limit.ts'
import type { ChatRequest } from '../wire-request.ts'
import { stripSchema } from './gemini-schema.ts'
import { always, counted, type Outcome, type Rule } from './rule.ts'

/** Runs before `functions` become tools, so that the refusal has the caller's own word. */
export const toolLimitRule: Rule = {
  name: 'too many tools refused',
  source: 'parameters, tools',
  applies: always,
  adapt: ({ tools, functions }, { traits }) => {
    const [own, older] = [tools?.length ?? 0, functions?.length ?? 0]
    refuseTooManyTools(own + older, own > 0 ? 'tools' : 'functions', traits)
    return undefined
  },
}

export const toolRules: readonly Rule[] = [
  {
    name: 'empty tools dropped',
    source: 'parameters, tools: empty tools are 400',
    applies: always,
    adapt: (request) => (request.tools?.length === 0 ? drop('tools', 'empty', false) : undefined),
  },
  {
    name: 'tool_choice without tools dropped',
    source: 'parameters, tool_choice',
    applies: always,
    adapt: (request) => {
      const choice = request.tool_choice
      if (choice === undefined || request.tools) return undefined
      return drop('tool_choice', 'there are no tools', choice !== 'auto' && choice !== 'none')
    },
  },
  {
    name: 'parallel_tool_calls without tools dropped',
    source: 'parameters, parallel_tool_calls',
    applies: always,
    adapt: (request) =>
      request.parallel_tool_calls === undefined || request.tools
        ? undefined
        : drop('parallel_tool_calls', 'there are no tools', false),
  },
  {
    name: 'parallel_tool_calls dropped',
    source: 'parameters, parallel_tool_calls: if supports.parallel_tool_calls',
    applies: ({ traits }) => traits.supports.parallelToolCalls === false,
    adapt: (request, { traits }) => {
      const parallel = request.parallel_tool_calls
      if (parallel === undefined) return undefined
      return drop('parallel_tool_calls', `not supported by ${traits.id}`, parallel === true)
    },
  },
  {
    name: 'tool schemas without keywords Gemini refuses',
    source: 'parameters, tools',
    applies: ({ family }) => family.kind === 'gemini',
    adapt: stripToolSchemas,
  },
]

function drop(field: string, reason: string, isLoss: boolean): Outcome {
  const code = isLoss ? 'dropped' : 'adapted'
  return { patch: { [field]: undefined }, notes: [{ code, field, reason, action: 'dropped' }] }
}

function stripToolSchemas(request: ChatRequest): Outcome | undefined {
  const keywords = new Set<string>()
  const touched: string[] = []
  let loosened: string | undefined
  const tools = request.tools?.map((tool, at) => {
    const definition = tool.function
    if (!definition?.parameters) return tool
    const stripped = stripSchema(definition.parameters)
    const { schema, removed } = stripped
    if (removed.length === 0) return tool
    const field = `tools.${at}.function.parameters`
    touched.push(field)
    for (const keyword of removed) keywords.add(keyword)
    if (stripped.loosened) loosened ??= field
    return { ...tool, function: { ...definition, parameters: schema } }
  })
  const field = loosened ?? touched[0]
  if (field === undefined) return undefined
  const reason = `${[...keywords].join(', ')} not supported by Gemini`
  const code = loosened === undefined ? 'adapted' : 'schema_simplified'
  return { patch: { tools }, notes: [{ code, field, reason, action: counted('left out', touched.length) }] }
}
