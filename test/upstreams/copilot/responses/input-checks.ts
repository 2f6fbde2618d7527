import { limitsOf } from '../models.ts'
import { failure, openaiFailure } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import { openOpaque } from '../../answer/sealed-text.ts'
import type { Outcome } from '../../http/outcome.ts'
import { itemsOf, typeOf } from './request.ts'
import type { InputItem, ResponsesRequest } from './request.ts'
import { emptyString, invalidValue, missing, refuseName, tooLong } from './refusals.ts'

type Subject = InferenceSubject<ResponsesRequest>

const OLD_ITEMS = [
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'web_search_call',
  'compaction',
  'compaction_trigger',
  'item_reference',
]
const ITEMS = [
  ...OLD_ITEMS,
  'custom_tool_call',
  'custom_tool_call_output',
  'additional_tools',
  'tool_search_call',
  'tool_search_output',
]

const LONGEST_ID = 64
const LONGEST_ARGUMENTS = 1_048_576

export function checkItems({ request, model }: Subject): Outcome | undefined {
  const accepted = limitsOf(model).isOlder ? OLD_ITEMS : ITEMS
  for (const [at, item] of itemsOf(request).entries()) {
    const refusal = refuseItem(item, `input[${at}]`, accepted)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function refuseItem(item: InputItem, path: string, accepted: readonly string[]): Outcome | undefined {
  const type = typeOf(item)
  if (!accepted.includes(type)) return invalidValue(type, path, accepted)
  // This 401 is not about the token (docs/copilot-wire.md, "Errors").
  if (type === 'item_reference') {
    return failure(401, { message: 'input item ID does not belong to this connection', code: '' })
  }
  if (type !== 'reasoning' && item.id !== undefined && item.id.length > LONGEST_ID)
    return tooLong(item.id, `${path}.id`, LONGEST_ID)
  switch (type) {
    case 'message':
      return refuseContent(item, path)
    case 'reasoning':
      return refuseReasoning(item, path)
    case 'compaction':
      return openOpaque('compaction', item.encrypted_content ?? '') === undefined
        ? undecipherable(item.encrypted_content)
        : undefined
    case 'function_call':
    case 'custom_tool_call':
      return refuseName(item.name, `${path}.name`) ?? refuseCallId(item, path) ?? refuseArguments(item, path)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return refuseCallId(item, path)
    default:
      return undefined
  }
}

const ASSISTANT_PARTS = ['output_text', 'refusal']
const USER_PARTS = ['input_text', 'input_image', 'input_file']

function refuseContent({ role, content }: InputItem, path: string): Outcome | undefined {
  if (typeof content === 'string') return undefined
  const accepted = role === 'assistant' ? ASSISTANT_PARTS : USER_PARTS
  for (const [at, { type = '' }] of (content ?? []).entries()) {
    if (!accepted.includes(type)) return invalidValue(type, `${path}.content[${at}]`, accepted)
  }
  return undefined
}

/** Reasoning has to come back with the ciphertext of its done event. If it has an id, it must be that event's. */
function refuseReasoning({ id, summary, encrypted_content: text }: InputItem, path: string): Outcome | undefined {
  if (summary === undefined) return missing(`${path}.summary`)
  const opened = openOpaque('reasoning', text ?? '')
  if (opened === undefined) return undecipherable(text)
  return id === undefined || opened.isOf(id)
    ? undefined
    : openaiFailure({
        message: `The encrypted content for item ${id} could not be verified. Reason: Encrypted content item_id did not match the target item id.`,
        code: 'invalid_encrypted_content',
      })
}

function undecipherable(text = ''): Outcome {
  return openaiFailure({
    message: `The encrypted content ${text.slice(0, 4)}...${text.slice(-4)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
    code: 'invalid_encrypted_content',
  })
}

function refuseCallId({ call_id: id }: InputItem, path: string): Outcome | undefined {
  const param = `${path}.call_id`
  if (id === undefined) return missing(param)
  if (id === '') return emptyString(param)
  return id.length > LONGEST_ID ? tooLong(id, param, LONGEST_ID) : undefined
}

function refuseArguments({ arguments: text = '' }: InputItem, path: string): Outcome | undefined {
  return text.length > LONGEST_ARGUMENTS ? tooLong(text, `${path}.arguments`, LONGEST_ARGUMENTS) : undefined
}

/** Each call needs an output after it, and each output a call before it. */
export function checkPairs({ request }: Pick<Subject, 'request'>): Outcome | undefined {
  const open = new Map<string, string>()
  for (const item of itemsOf(request)) {
    const { call_id: id = '' } = item
    const type = typeOf(item)
    if (type === 'function_call' || type === 'custom_tool_call') open.set(id, type)
    if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      if (open.delete(id)) continue
      const kind = type === 'function_call_output' ? 'function call' : 'custom tool call'
      return openaiFailure({
        message: `No tool call found for ${kind} output with call_id ${id}.`,
        code: 'invalid_request_body',
        param: 'input',
      })
    }
  }
  const [left] = open
  if (left === undefined) return undefined
  const kind = left[1] === 'function_call' ? 'function call' : 'custom tool call'
  return openaiFailure({
    message: `No tool output found for ${kind} ${left[0]}.`,
    code: 'invalid_request_body',
    param: 'input',
  })
}
