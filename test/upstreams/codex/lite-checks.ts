import type { Outcome } from '../http/outcome.ts'
import { itemsOf, partsOf, typeOf } from '../copilot/responses/request.ts'
import { openaiError } from './failures.ts'
import { liteToolsOf } from './lite-tools.ts'
import type { CodexCall, CodexSubject } from './request.ts'
import type { CodexUpstreamSettings } from './settings.ts'

export const LITE_HEADER = 'x-openai-internal-codex-responses-lite'

const NAME = 'X-OpenAI-Internal-Codex-Responses-Lite'

/**
 * Checks that a body has the form that its header states: the lite form with the header, the standard form without it
 * (docs/codex-wire.md, "Lite form"). Messages without a captured example follow the wording of those with one.
 */
export function checkForm(subject: CodexSubject, liteOnly: LiteOnly): Outcome | undefined {
  return isLite(subject.call) ? checkLite(subject) : checkStandard(subject, liteOnly)
}

/** Whether the header of a prompt states the lite form. */
export function isLite({ api, header }: Pick<CodexCall, 'api' | 'header'>): boolean {
  return api === 'chatgpt' && header(LITE_HEADER) === 'true'
}

export type LiteOnly = CodexUpstreamSettings['liteOnly']

function checkLite({ members, request, model }: CodexSubject): Outcome | undefined {
  if (!model.isLite) return refused(`${NAME} is not supported by ${model.slug}`, 'model')
  if (members['tools'] !== undefined) return refused(`${NAME} requires tools to be absent`, 'tools')
  if (request.instructions !== '') return refused(`${NAME} requires instructions to be empty`, 'instructions')
  if (request.parallel_tool_calls !== false) {
    return refused(`${NAME} requires parallel_tool_calls to be false`, 'parallel_tool_calls')
  }
  if (contextOf(request) !== 'all_turns') {
    return refused(`${NAME} requires reasoning.context to be 'all_turns'`, 'reasoning.context')
  }
  if (request.tool_choice !== 'auto') return refused(`${NAME} requires tool_choice to be auto`, 'tool_choice')
  // Without tools, the item may be absent here. The rule of the real backend is not known.
  const at = itemsOf(request).findIndex((item) => typeOf(item) === 'additional_tools')
  if (at > 0 || (at === 0 && itemsOf(request)[0]?.role !== 'developer')) {
    return refused(`${NAME} requires additional_tools by the developer to come first`, `input[${at}]`)
  }
  return checkLiteTools(request) ?? checkLiteImages(request)
}

const LITE_TOOLS = new Set(['function', 'custom', 'namespace', 'tool_search'])

/** The lite form takes functions and custom tools in namespaces, and a search that the client runs. */
function checkLiteTools(request: CodexSubject['request']): Outcome | undefined {
  const tools = liteToolsOf(request)
  const all = tools.flatMap((tool) => [tool, ...(tool.tools ?? [])])
  if (!all.every(({ type }) => LITE_TOOLS.has(type))) {
    return refused(
      `${NAME} only supports function tools, custom tools, and client-executed tool search`,
      'tools',
      'unsupported_value',
    )
  }
  return tools.some(({ type }) => type === 'function' || type === 'custom')
    ? refused(`${NAME} requires function tools and custom tools to be in a namespace`, 'tools')
    : undefined
}

function checkLiteImages(request: CodexSubject['request']): Outcome | undefined {
  const at = itemsOf(request).findIndex(({ content, output }) =>
    [...partsOf(content), ...partsOf(output)].some((part) => part['detail'] !== undefined),
  )
  return at < 0 ? undefined : refused(`${NAME} does not support detail`, `input[${at}]`)
}

/** The standard form has no tools in the input. `liteOnly` can make a model require `reasoning.context` there. */
function checkStandard({ request, model }: CodexSubject, liteOnly: LiteOnly): Outcome | undefined {
  const at = itemsOf(request).findIndex((item) => typeOf(item) === 'additional_tools')
  if (at >= 0) return refused(`additional_tools requires ${NAME}`, `input[${at}]`)
  const context = contextOf(request)
  if (liteOnly[model.slug] === 'context' && context !== 'all_turns') {
    return refused("Missing required parameter: 'reasoning.context'.", 'reasoning.context')
  }
  // The public API has this parameter too.
  return context === undefined || CONTEXTS.has(context)
    ? undefined
    : refused(`Invalid value: ${JSON.stringify(context)}.`, 'reasoning.context')
}

const CONTEXTS: ReadonlySet<unknown> = new Set(['auto', 'current_turn', 'all_turns'])

function contextOf({ reasoning }: CodexSubject['request']): unknown {
  return reasoning?.['context']
}

function refused(message: string, param: string, code = 'invalid_value'): Outcome {
  return openaiError(400, { message, code, param })
}
