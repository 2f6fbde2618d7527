import type { EncodeContext } from '../../dialect.ts'
import { isObject, type JsonObject } from '../../../json/json.ts'
import { fieldOf } from '../../engine/origin.ts'
import { refuseTooManyTools } from '../../parts/shared-checks.ts'
import type { Warning } from '../../warning.ts'
import { mapParts } from '../items.ts'
import { fitBreakpoints, takesBreakpoints } from './breakpoints.ts'
import { finishRequest, type Finished } from './finish-request.ts'
import {
  fitCap,
  fitChatgptStreamOptions,
  fitInclude,
  fitReasoning,
  fitText,
  membersToDrop,
  withoutObfuscation,
} from './members.ts'
import { isChatgpt, isCopilot } from './model-profile.ts'
import { passItems } from './pass-items.ts'
import {
  bringsTools,
  fitChatgptChoice,
  fitChatgptTools,
  offeredTools,
  passToolChoice,
  passTools,
} from './pass-tools.ts'
import { sessionOf } from './session.ts'

/**
 * Fits a request to upstream and to the model, whether a caller or an encoder wrote it. The result always asks for a
 * stream and for encrypted reasoning, and never for storage. A removed member is undefined.
 *
 * @param conversation the caller's name for its conversation
 * @throws Fault `invalid_request`
 */
export function adaptRequest(
  value: JsonObject,
  conversation: string | undefined,
  context: EncodeContext,
  warnings: Warning[],
): Finished {
  const input = fitInput(value['input'], context, warnings)
  const tools = fitTools(value, context, warnings)
  if (Array.isArray(tools['tools'])) refuseTooManyTools(tools['tools'].length, 'tools', context.model)
  const isForChatgpt = isChatgpt(context)
  const fitted: JsonObject = {
    ...value,
    model: context.model.id,
    input,
    ...tools,
    reasoning: fitReasoning(value['reasoning'], context, warnings),
    text: fitText(value['text'], context, warnings),
    include: fitInclude(value['include'], context, warnings),
    ...(!isForChatgpt && { max_output_tokens: fitCap(value['max_output_tokens'], context, warnings) }),
    ...Object.fromEntries(membersToDrop(value, context, warnings).map((member) => [member, undefined])),
    ...(isForChatgpt
      ? {
          stream_options: fitChatgptStreamOptions(value['stream_options']),
          service_tier: usualTiers.has(value['service_tier']) ? undefined : value['service_tier'],
          instructions: typeof value['instructions'] === 'string' ? value['instructions'] : '',
        }
      : { stream_options: withoutObfuscation(value['stream_options']) }),
    store: false,
    stream: true,
    ...(isCopilot(context) && !takesBreakpoints(context) && { prompt_cache_options: undefined }),
  }
  return finishRequest(fitted, sessionOf(conversation, value), context, warnings, (field) =>
    // A member that the proxy added needs no warning.
    Object.hasOwn(value, field.split(/[.[]/, 1)[0] ?? '')
      ? { code: 'refused_upstream', field, detail: 'the provider has refused this field for this model' }
      : undefined,
  )
}

/** Values of `service_tier` that ask for the default. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', null])

function fitInput(input: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (Array.isArray(input)) {
    const items = passItems(input, context, warnings)
    // OpenAI's own API has different rules for breakpoints and images.
    return isCopilot(context) ? fitBreakpoints(fitDetails(items, warnings), context) : items
  }
  // The ChatGPT backend does not accept a string.
  if (context.profile !== 'chatgpt' || typeof input !== 'string') return input
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** Some models refuse all others (caozhiyuan/copilot-api#362; docs/copilot-wire.md, "Responses requests"). */
const details: ReadonlySet<unknown> = new Set(['low', 'high', undefined, null])

/** Images are sent in high detail unless the caller names one that every model takes, because text in them stays readable. */
function fitDetails(items: readonly JsonObject[], warnings: Warning[]): readonly JsonObject[] {
  let first: string | undefined
  const fitted = items.map((item, at) => {
    const mapped = mapParts(item, (part) =>
      part['type'] === 'input_image' && !details.has(part['detail']) ? { ...part, detail: 'high' } : part,
    )
    if (mapped !== item) first ??= fieldOf(item, 'input', at)
    return mapped
  })
  if (first === undefined) return items
  warnings.push({ code: 'adapted', field: first, detail: 'image detail sent as high' })
  return fitted
}

/** Without a tool, upstream refuses `tool_choice`. */
function fitTools(value: JsonObject, context: EncodeContext, warnings: Warning[]): JsonObject {
  const { tools: given, input, tool_choice: choice, parallel_tool_calls: parallel } = value
  const tools = isChatgpt(context) && Array.isArray(given) ? fitChatgptTools(given, 'tools', choice, warnings) : given
  const kept = Array.isArray(tools) ? passTools(tools, 'tools', context, warnings) : tools
  const choiceKept = passToolChoice(choice, context)
  const isBare = (Array.isArray(kept) ? kept.length === 0 : !kept) && !bringsTools(input)
  if (!isBare) {
    const fitted = isChatgpt(context) ? fitChatgptChoice(choiceKept, offeredTools(kept, input)) : choiceKept
    return { tools: kept, tool_choice: fitted, parallel_tool_calls: fitParallel(parallel, context, warnings) }
  }
  if (isObject(choice) || choice === 'required') {
    warnings.push({ code: 'dropped', field: 'tool_choice', detail: 'there are no tools' })
  }
  return { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }
}

function fitParallel(parallel: unknown, { model }: EncodeContext, warnings: Warning[]): unknown {
  if (model.supports.parallelToolCalls !== false) return parallel
  if (parallel === true) {
    warnings.push({ code: 'dropped', field: 'parallel_tool_calls', detail: `not supported by ${model.id}` })
  }
  return undefined
}
