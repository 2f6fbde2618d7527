import { getNodeValue, parseTree } from 'jsonc-parser'
import type { Node, ParseError } from 'jsonc-parser'

/** Strict JSON, or JSON with comments and trailing commas. Undefined for anything else, and for nesting too deep to read. */
export function parseJsonc(text: string): Node | undefined {
  const errors: ParseError[] = []
  try {
    // A space in the place of a byte order mark keeps all offsets.
    const root = parseTree(text.replace(/^\uFEFF/, ' '), errors, { allowTrailingComma: true })
    return errors.length === 0 ? root : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** As `JSON.parse`, for what `parseJsonc` accepts. */
export function readJsonc(text: string): unknown {
  const root = parseJsonc(text)
  return root && getNodeValue(root)
}
