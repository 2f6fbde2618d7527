import type { CustomTool, FunctionTool } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { textOf } from '../../../json/json.ts'

/** Offers a freeform tool as a function with one string parameter, to an upstream that knows functions only. */
export function wrapCustom(tool: CustomTool, warnings: Warning[]): FunctionTool {
  const { format, path, name } = tool
  let description = tool.description ?? ''
  if (format?.['type'] === 'grammar') {
    const syntax = typeof format['syntax'] === 'string' ? `${format['syntax']} ` : ''
    const definition = typeof format['definition'] === 'string' ? format['definition'] : ''
    const rule = `The input must match this ${syntax}grammar:\n${definition}`
    description = description === '' ? rule : `${description}\n\n${rule}`
    warnings.push({ code: 'grammar_not_enforced', field: path })
  }
  return {
    type: 'function',
    name,
    ...(description !== '' && { description }),
    parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    path,
  }
}

/** The arguments of a call of such a function. @param input of the freeform tool */
export function wrapInput(input: unknown): string {
  return JSON.stringify({ input: textOf(input) })
}
