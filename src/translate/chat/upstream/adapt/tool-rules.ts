import { fieldOf } from '../../../engine/origin.ts'
import { createToolFitter } from '../../../engine/fit-tools.ts'
import { refuseTooManyTools } from '../../../parts/shared-checks.ts'
import { withTools } from '../../request-changes.ts'
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

/** Runs before the other rules for tools, so that they see what was `functions`. */
export const legacyFunctionsRule: Rule = {
  name: 'functions as tools',
  source: 'OpenAI API reference, chat completions: functions and function_call are deprecated in favour of tools',
  adapt: ({ body }) => withTools(body),
}

export const toolSchemaRule: Rule = {
  name: 'tool schemas fitted to the model',
  source: 'tool schemas',
  adapt: ({ body: { tools } }, { family }) => {
    if (!tools) return undefined
    const fitter = createToolFitter({ gemini: family.kind === 'gemini', messages: false })
    const fitted = tools.map((tool, at) => {
      const definition = tool.function
      if (!definition) return tool
      const parameters = fitter.fit(definition.parameters, fieldOf(tool, 'tools', at, '.function.parameters'))
      return parameters === definition.parameters ? tool : { ...tool, function: { ...definition, parameters } }
    })
    if (fitted.every((tool, at) => tool === tools[at])) return undefined
    return { patch: { tools: fitted }, warnings: fitter.warnings() }
  },
}
