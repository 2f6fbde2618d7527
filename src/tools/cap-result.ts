import { isObject } from '../json/json.ts'
import type { ToolResult } from './tool.ts'

/** Deeper values are replaced by null. */
const maxDepth = 64

/** Estimated size of a value that is not a text, and of the separators of a key. Bytes. */
const scalarBytes = 8

/**
 * Reduces a result to about `maxBytes`. Cuts texts after a whole character and lists after a whole element, and sets
 * `truncated: true` then.
 */
export function capResult(result: ToolResult, maxBytes: number): ToolResult {
  const cut: Cut = { leftBytes: maxBytes, isCut: false }
  const capped = capObject(result, cut, 0)
  return cut.isCut ? { ...capped, truncated: true } : capped
}

interface Cut {
  leftBytes: number
  isCut: boolean
}

function capValue(value: unknown, cut: Cut, depth: number): unknown {
  if (typeof value === 'string') return capText(value, cut)
  if (depth > maxDepth) {
    cut.isCut = true
    return null
  }
  if (Array.isArray(value)) return capList(value, cut, depth)
  if (isObject(value)) return capObject(value, cut, depth)
  cut.leftBytes -= scalarBytes
  return value
}

function capText(text: string, cut: Cut): string {
  const bytes = Buffer.byteLength(text)
  const leftBytes = Math.max(cut.leftBytes, 0)
  cut.leftBytes -= bytes
  if (bytes <= leftBytes) return text
  cut.isCut = true
  // `write` never writes an incomplete character.
  const whole = Buffer.alloc(leftBytes)
  return whole.toString('utf8', 0, whole.write(text))
}

function capObject(value: Readonly<Record<string, unknown>>, cut: Cut, depth: number): Record<string, unknown> {
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    cut.leftBytes -= Buffer.byteLength(key) + scalarBytes
    const isWhole = !bytes.has(key) || typeof inner !== 'string' || inner.length <= cut.leftBytes
    if (!isWhole) cut.isCut = true
    entries.push([key, isWhole ? capValue(inner, cut, depth + 1) : ''])
  }
  return Object.fromEntries(entries)
}

/** Members with an image, a sound or a file in base64, a part of which is of no use. */
const bytes: ReadonlySet<string> = new Set(['base64', 'blob'])

/** Ends the list before the first element that does not fit. If that is the first of all, keeps a shortened element. */
function capList(values: readonly unknown[], cut: Cut, depth: number): unknown[] {
  const kept: unknown[] = []
  for (const value of values) {
    const part: Cut = { leftBytes: cut.leftBytes, isCut: false }
    const capped = capValue(value, part, depth + 1)
    if (part.leftBytes < 0 || part.isCut) cut.isCut = true
    if (part.leftBytes < 0 && kept.length > 0) break
    kept.push(capped)
    cut.leftBytes = part.leftBytes
    if (part.leftBytes < 0) break
  }
  return kept
}
