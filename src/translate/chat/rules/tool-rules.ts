import { fieldOf } from '../../engine/origin.ts'
import { createToolFitter } from '../../engine/tool-codec/fit-tools.ts'
import { refuseTooManyTools } from '../../engine/request/shared-checks.ts'
import { isObject } from '../../../json/json.ts'
import { withTools } from '../request-changes.ts'
import type { ChatMessage } from '../wire.ts'
import { nameTools } from './name-tools.ts'
import type { Rule } from './rule.ts'

/** Runs before `functions` become tools, so that the refusal names the caller's own field. */
export const toolLimitRule: Rule = {
  name: 'too many tools refused',
  source: 'parameters, tools',
  adapt: ({ body: { tools, functions } }, { traits }) => {
    const toolCount = tools?.length ?? 0
    const field = toolCount > 0 ? 'tools' : 'functions'
    refuseTooManyTools(toolCount + (functions?.length ?? 0), field, traits)
    return undefined
  },
}

export const toolNamesRule: Rule = {
  name: 'names and kinds of tools that upstream takes',
  source: 'parameters, tool names; parameters, roles: custom tools',
  adapt: ({ body }, { family }) => nameTools(body, family),
}

/** Runs before the other rules for tools, so that they see what was `functions`. */
export const legacyFunctionsRule: Rule = {
  name: 'functions as tools',
  source: 'OpenAI API reference, chat completions: functions and function_call are deprecated in favour of tools',
  adapt: ({ body }) => withTools(body),
}

export const toolSchemaRule: Rule = {
  name: 'tool schemas fitted to the model',
  source: 'tool schemas',
  adapt: ({ body: { tools, messages } }, { family: { kind } }) => {
    if (!tools) return undefined
    const fitter = createToolFitter({ gemini: kind === 'gemini', claude: kind === 'claude', messages: false })
    const fitted = tools.map((tool, at) => {
      const definition = tool.function
      if (!definition) return tool
      const parameters = fitter.fit(definition.parameters, fieldOf(tool, 'tools', at, '.function.parameters'))
      return parameters === definition.parameters ? tool : { ...tool, function: { ...definition, parameters } }
    })
    if (fitted.every((tool, at) => tool === tools[at])) return undefined
    const effects = fitter.effects()
    return {
      patch: {
        tools: fitted,
        ...(effects && { messages: messages.map((message) => fitCalls(message, fitter.fitArguments)) }),
      },
      warnings: fitter.warnings(),
      ...(effects && { effects }),
    }
  },
}

function fitCalls(message: ChatMessage, fit: (text: string) => string): ChatMessage {
  if (message.role !== 'assistant' || !message.tool_calls) return message
  const { tool_calls: calls } = message
  const fitted = calls.map((call) => {
    const { function: called } = call
    if (!isObject(called) || typeof called['arguments'] !== 'string') return call
    const text = fit(called['arguments'])
    return text === called['arguments'] ? call : { ...call, function: { ...called, arguments: text } }
  })
  return fitted.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls: fitted }
}
