import { refuseValue, toFieldPath } from '../engine/request/invalid.ts'
import { mapNested, MAX_DEPTH, pick } from '../engine/schema/keywords.ts'
import { isFilled, isObject, type JsonObject, objectsOf } from '../../json/json.ts'

// Messages between the agents of Codex CLI (multi-agent v2). A parameter of their tools is marked `encrypted`: OpenAI's own backend writes
// a ciphertext as that argument, and reads it when the client sends it to another agent, in an item `agent_message`. Any other
// model writes plain text. If the call has `encrypted_function_args: []`, the client sends that text as text.
// Source: Codex CLI 0.169.0, as recorded on the wire; openai/codex#26210, #37858.

/** States that no argument of a call is encrypted. */
export const OPEN_ARGUMENTS = { encrypted_function_args: [] as never[] }

/** Fernet, as OpenAI's backend writes it: version and time, then more. */
const ciphertext = /^gAAAA[\w-]{20,}={0,2}$/

/**
 * The content of a message between agents as parts of a user message.
 * @throws Fault `invalid_request` for a ciphertext, which only the provider that wrote it can read
 */
export function openAgentMessage({ content }: JsonObject, path: string): readonly JsonObject[] {
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : objectsOf(content)
  const open: JsonObject[] = []
  let text = ''
  const endText = (): void => {
    if (text !== '') open.push({ type: 'input_text', text })
    text = ''
  }
  for (const [at, part] of parts.entries()) {
    const { type, text: shown, encrypted_content: sealed } = part
    if (isFilled(sealed) && ciphertext.test(sealed)) refuseCiphertext(`${path}.content.${at}`)
    // One text, as the client sends it where it knows that nothing is encrypted.
    if (type === 'input_text' || type === 'encrypted_content')
      text += isFilled(shown) ? shown : isFilled(sealed) ? sealed : ''
    else {
      endText()
      open.push(part)
    }
  }
  endText()
  return open
}

function refuseCiphertext(path: string): never {
  refuseValue(
    toFieldPath(path),
    'this message of another agent is encrypted, and only the provider of the agent that sent it can read it; use a model of that ' +
      'provider for this agent, or start the agent anew from a model of this one',
    'invalid_encrypted_content',
  )
}

/** Returns the schema without marks of encrypted values; the same value if it has none. A property may have the name of the mark. */
export function withoutEncrypted(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return schema
  const open = Object.hasOwn(schema, MARK) ? pick(schema, Object.keys(schema).filter(isNoMark)) : schema
  return mapNested(open, (nested) => withoutEncrypted(nested, depth + 1))
}

const MARK = 'encrypted'

function isNoMark(keyword: string): boolean {
  return keyword !== MARK
}

/** Returns the tool, or the namespace of tools, without marks; the same object if it has none. */
export function withOpenParameters(tool: JsonObject): JsonObject {
  const { parameters, tools } = tool
  if (Array.isArray(tools)) {
    const open = openToolList(tools)
    return open === tools ? tool : { ...tool, tools: open }
  }
  const open = withoutEncrypted(parameters)
  return open === parameters ? tool : { ...tool, parameters: open }
}

/** Returns the same list if no tool has a mark. */
export function openToolList(tools: readonly unknown[]): readonly unknown[] {
  const open = tools.map((tool) => (isObject(tool) ? withOpenParameters(tool) : tool))
  return open.every((tool, at) => tool === tools[at]) ? tools : open
}

/** The tools of a request that have an encrypted parameter, as `toolKey` names them; undefined if there are none. */
export function encryptedTools({ tools, input }: JsonObject): ReadonlySet<string> | undefined {
  const listed = [...objectsOf(tools), ...objectsOf(input).flatMap((item) => objectsOf(item['tools']))]
  const marked = listed.flatMap((tool) => markedIn(tool))
  return marked.length === 0 ? undefined : new Set(marked)
}

function markedIn(tool: JsonObject, namespace?: unknown): readonly string[] {
  const { type, name, tools } = tool
  if (type === 'namespace') return objectsOf(tools).flatMap((inner) => markedIn(inner, name))
  return isMarked(tool) ? [toolKey({ name, namespace })] : []
}

function isMarked({ parameters }: JsonObject): boolean {
  return withoutEncrypted(parameters) !== parameters
}

export function toolKey({ name, namespace }: { readonly name: unknown; readonly namespace?: unknown }): string {
  return isFilled(namespace) ? `${namespace}.${String(name)}` : String(name)
}
