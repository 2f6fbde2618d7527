import { parseJSONRPCMessage, type JSONRPCMessage } from '@modelcontextprotocol/client'
import { isObject, isTooComplex, parseJson, tooComplex } from '../../json/json.ts'

/** Members with values of a tool's own, in which null means something. */
const ownValues: ReadonlySet<string> = new Set([
  'arguments',
  'data',
  'inputSchema',
  'outputSchema',
  'structuredContent',
])

/** The code of `error` in the answer that stands for an invalid one. */
export const invalidAnswer = -32_099

/**
 * Returns the messages in a text that the SDK can read: null stands for an absent member. An answer that is not valid MCP becomes
 * an error with the same id, because its request would wait for an answer until its time limit. Returns [] for a text that is no
 * message, e.g. a log line.
 * @throws Error for a text that takes too long to read, with a reason in a clause
 */
export function readMessages(text: string): readonly JSONRPCMessage[] {
  if (isTooComplex(text)) throw new Error(`it sent a message that ${tooComplex}`)
  const value = parseJson(text)
  // MCP 2025-03-26 allows a list of messages.
  return (Array.isArray(value) ? value : [value]).flatMap((each) => readMessage(each) ?? [])
}

/** As `readMessages`, for one value that is not too complex. */
export function readMessage(value: unknown): JSONRPCMessage | undefined {
  if (!isObject(value)) return undefined
  try {
    return parseJSONRPCMessage(withoutNulls(value))
  } catch {
    const { id, method } = value
    if ((typeof id !== 'number' && typeof id !== 'string') || typeof method === 'string') return undefined
    return { jsonrpc: '2.0', id, error: { code: invalidAnswer, message: 'The answer is not valid MCP.' } }
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(entries.map(([key, inner]) => [key, ownValues.has(key) ? inner : withoutNulls(inner)]))
}
