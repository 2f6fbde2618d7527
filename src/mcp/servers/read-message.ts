import { deserializeMessage } from '@modelcontextprotocol/client'
import { isObject } from '../../json/json.ts'

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
 * Returns the JSON of a message that the SDK can read: null stands for an absent member. An answer that is not valid MCP becomes
 * an error of its request, which would wait for it otherwise. Returns undefined for a text that is no message, e.g. a log line.
 */
export function readMessage(text: string): string | undefined {
  const value = parse(text)
  // HTTP allows a list of messages.
  if (Array.isArray(value)) return `[${value.flatMap((each) => toMessage(each) ?? []).join(',')}]`
  return toMessage(value)
}

function toMessage(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  const message = JSON.stringify(withoutNulls(value))
  try {
    deserializeMessage(message)
    return message
  } catch {
    const { id, method } = value
    if ((typeof id !== 'number' && typeof id !== 'string') || typeof method === 'string') return undefined
    return JSON.stringify({
      jsonrpc: '2.0',
      id,
      error: { code: invalidAnswer, message: 'The answer is not valid MCP.' },
    })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(entries.map(([key, inner]) => [key, ownValues.has(key) ? inner : withoutNulls(inner)]))
}
