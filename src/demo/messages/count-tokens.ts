/** As much of a request as counts. */
interface Counted {
  readonly system?: unknown
  readonly messages: readonly { readonly content: unknown }[]
  readonly tools?: readonly unknown[] | undefined
}

/** What an image or a document counts for, whatever its size. */
const PER_FILE = 1500

/** Overhead of a message or a tool. */
const PER_ENTRY = 3

/**
 * Tokens of a request: four characters of text each, a fixed number for every file. The same request always counts the
 * same, for `count_tokens` and for the usage of an answer.
 */
export function countTokens({ system, messages, tools = [] }: Counted): number {
  const characters = textLength(system) + messages.reduce((sum, { content }) => sum + textLength(content), 0)
  const schemas = tools.reduce((sum: number, tool) => sum + JSON.stringify(tool).length, 0)
  return Math.ceil((characters + schemas) / 4) + PER_ENTRY * (messages.length + tools.length)
}

/** Characters of whatever a message holds: texts, thoughts, arguments, results. */
function textLength(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, each: unknown) => sum + blockLength(each), 0)
}

function blockLength(block: unknown): number {
  if (typeof block !== 'object' || block === null) return 0
  const fields = new Map<string, unknown>(Object.entries(block))
  switch (fields.get('type')) {
    case 'image':
    case 'document':
      return PER_FILE * 4
    case 'tool_use':
      return JSON.stringify(fields.get('input') ?? {}).length
    default:
      return textLength(fields.get('text')) + textLength(fields.get('thinking')) + textLength(fields.get('content'))
  }
}
