import type { Outcome } from '../http/outcome.ts'
import { checkPairs } from '../copilot/responses/input-checks.ts'
import { refuseName } from '../copilot/responses/refusals.ts'
import { itemsOf, typeOf } from '../copilot/responses/request.ts'
import type { InputItem } from '../copilot/responses/request.ts'
import { refuseCiphertext } from './ciphertext.ts'
import { detail, openaiError } from './failures.ts'
import type { CodexCall, CodexSubject } from './request.ts'
import { inJson, invalid, invalidValue, missing, tooLong } from './refusals.ts'

/** The accepted items, and the prefixes of their ids (docs/codex-wire.md, "Request body"). */
const ID_PREFIXES: Readonly<Record<string, readonly string[]>> = {
  additional_tools: ['at_'],
  agent_message: ['amsg_'],
  compaction: ['cmp_'],
  compaction_trigger: ['ct_'],
  custom_tool_call: ['ctc_'],
  custom_tool_call_output: ['ctco_'],
  function_call: ['fc_'],
  function_call_output: ['fc_', 'fco_'],
  message: ['msg_'],
  reasoning: ['rs_'],
  tool_search_call: ['tsc_'],
  tool_search_output: ['tso_'],
  web_search_call: ['ws_'],
}

const LONGEST_ID = 64

export function checkItems({ call, request }: CodexSubject): Outcome | undefined {
  const items = itemsOf(request)
  if (items.length === 0) return missing('input')
  for (const [at, item] of items.entries()) {
    const refusal = refuseItem(item, `input[${at}]`, call)
    if (refusal !== undefined) return refusal
  }
  return inJson(checkPairs({ request }))
}

function refuseItem(item: InputItem, path: string, call: CodexCall): Outcome | undefined {
  const type = typeOf(item)
  if (type === 'item_reference') {
    const message = `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`
    return openaiError(404, { message, code: 'item_not_found', param: 'input' })
  }
  const prefixes = ID_PREFIXES[type]
  if (prefixes === undefined) {
    return invalidValue(type, path, Object.keys(ID_PREFIXES))
  }
  return refuseId(item.id, prefixes, `${path}.id`) ?? refuseByType(type, item, path, call)
}

function refuseId(id: string | undefined, prefixes: readonly string[], param: string): Outcome | undefined {
  if (id === undefined) return undefined
  if (id.length > LONGEST_ID) return tooLong(id, param, LONGEST_ID)
  return prefixes.some((prefix) => id.startsWith(prefix))
    ? undefined
    : invalid(`Invalid '${param}': '${id}'. Expected an ID that begins with '${prefixes[0]?.slice(0, -1)}'.`, param)
}

function refuseByType(type: string, item: InputItem, path: string, call: CodexCall): Outcome | undefined {
  switch (type) {
    case 'message':
      return refuseMessage(item, path, call)
    case 'reasoning':
      if (item.summary === undefined) return missing(`${path}.summary`)
      return refuseSealed('reasoning', item, call)
    case 'compaction':
      return refuseSealed('compaction', item, call)
    case 'function_call':
      if (item.arguments === undefined) return missing(`${path}.arguments`)
      return inJson(refuseName(item.name, `${path}.name`)) ?? refuseCallId(item, path)
    case 'custom_tool_call':
      if (item.input === undefined) return missing(`${path}.input`)
      return inJson(refuseName(item.name, `${path}.name`)) ?? refuseCallId(item, path)
    case 'function_call_output':
    case 'custom_tool_call_output':
      if (item.output === undefined) return missing(`${path}.output`)
      return refuseCallId(item, path) ?? refuseParts(item.output, USER_PARTS, `${path}.output`)
    default:
      return undefined
  }
}

const ASSISTANT_PARTS = ['output_text', 'refusal']
const USER_PARTS = ['input_text', 'input_image', 'input_file']

const ROLES: Readonly<Record<CodexCall['api'], readonly string[]>> = {
  chatgpt: ['user', 'assistant', 'developer'],
  'api-key': ['user', 'assistant', 'developer', 'system'],
}

function refuseMessage({ role = '', content }: InputItem, path: string, { api }: CodexCall): Outcome | undefined {
  if (!ROLES[api].includes(role)) {
    return role === 'system'
      ? detail(400, 'System messages are not allowed')
      : invalidValue(role, `${path}.role`, ROLES[api])
  }
  if (content === undefined) return missing(`${path}.content`)
  return refuseParts(content, role === 'assistant' ? ASSISTANT_PARTS : USER_PARTS, `${path}.content`)
}

function refuseParts(content: InputItem['content'], accepted: readonly string[], path: string): Outcome | undefined {
  if (typeof content === 'string') return undefined
  for (const [at, { type = '', image_url: url }] of (content ?? []).entries()) {
    const param = `${path}[${at}]`
    if (!accepted.includes(type)) {
      return invalidValue(type, param, accepted)
    }
    if (url !== undefined && !IMAGE.test(url)) {
      return invalid('The image data you provided does not represent a valid image.', `${param}.image_url`)
    }
  }
  return undefined
}

/** An address, or data of an accepted type. */
const IMAGE = /^(?:https?:\/\/\S+$|data:image\/(?:png|jpeg|gif|webp);base64,[\w+/])/

function refuseSealed(kind: 'reasoning' | 'compaction', item: InputItem, { account }: CodexCall): Outcome | undefined {
  const { id, encrypted_content: text = '' } = item
  const reason = refuseCiphertext(kind, text, { account, id })
  if (reason === undefined) return undefined
  return openaiError(400, {
    message: `The encrypted content ${text.slice(0, 4)}...${text.slice(-4)} could not be verified. Reason: ${reason}`,
    code: 'invalid_encrypted_content',
  })
}

function refuseCallId({ call_id: id }: InputItem, path: string): Outcome | undefined {
  const param = `${path}.call_id`
  if (id === undefined || id === '') return missing(param)
  return id.length > LONGEST_ID ? tooLong(id, param, LONGEST_ID) : undefined
}
