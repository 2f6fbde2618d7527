import type { ChatRequest } from '../wire-request.ts'
import { stripSchema } from './gemini-schema.ts'
import { always, counted, type Outcome, type Rule } from './rule.ts'

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

function drop(path: string, reason: string, changesMeaning: boolean): Outcome {
  return { patch: { [path]: undefined }, notes: [{ path, reason, action: 'dropped', changesMeaning }] }
}

function stripToolSchemas(request: ChatRequest): Outcome | undefined {
  const keywords = new Set<string>()
  const touched: string[] = []
  let loosenedPath: string | undefined
  const tools = request.tools?.map((tool, at) => {
    const definition = tool.function
    if (!definition?.parameters) return tool
    const { schema, removed, loosened } = stripSchema(definition.parameters)
    if (removed.length === 0) return tool
    const path = `tools[${at}].function.parameters`
    touched.push(path)
    for (const keyword of removed) keywords.add(keyword)
    if (loosened) loosenedPath ??= path
    return { ...tool, function: { ...definition, parameters: schema } }
  })
  const path = loosenedPath ?? touched[0]
  if (path === undefined) return undefined
  const reason = `${[...keywords].join(', ')} not supported by Gemini`
  const note = { path, reason, action: counted('left out', touched.length), changesMeaning: loosenedPath !== undefined }
  return { patch: { tools }, notes: [note] }
}
