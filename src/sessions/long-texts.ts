import { z } from 'zod'
import type { AgentOutcome } from '../agent/agent-task.ts'

type Items = AgentOutcome['items']

/** Texts of this length, such as attached images, are stored apart from the items. Characters. */
const longText = 32 * 1024

/**
 * Length of a piece of a long text. Storing one takes up to 20 ms with a checkpoint; the 10 MB of the largest attachments would
 * take up to 170 ms at once (measured, 2026-11). Characters.
 */
const pieceLength = 256 * 1024

/** A piece of a long text. `data` is JSON, because a piece may end in the middle of a surrogate pair. */
export interface TextPiece {
  /** The number of the long text in its run, from 0. */
  readonly number: number
  readonly data: string
}

/** Replaces a long text in the JSON of items. */
const place = z.strictObject({ longText: z.int() })

/**
 * Returns the JSON of items, and their long texts in pieces, so that each piece can be encoded and stored in its own turn of
 * the event loop.
 */
export function splitItems(items: Items): { readonly text: string; readonly pieces: Iterable<TextPiece> } {
  const texts: string[] = []
  const text = JSON.stringify(items, (_key, value: unknown) => {
    if (typeof value !== 'string' || value.length < longText) return value
    return { longText: texts.push(value) - 1 } satisfies z.infer<typeof place>
  })
  return { text, pieces: piecesOf(texts) }
}

function* piecesOf(texts: readonly string[]): Iterable<TextPiece> {
  for (const [number, text] of texts.entries()) {
    for (let from = 0; from < text.length; from += pieceLength) {
      yield { number, data: JSON.stringify(text.slice(from, from + pieceLength)) }
    }
  }
}

export function readPiece({ data }: TextPiece): string {
  return z.string().parse(JSON.parse(data))
}

/** Reverses `splitItems`. @param texts the pieces of each long text, by its number */
export function joinItems(text: string, texts: ReadonlyMap<number, readonly string[]>): Items {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the column holds what `splitItems` made
  if (texts.size === 0) return JSON.parse(text) as Items
  const restore = (_key: string, value: unknown): unknown => {
    const found = place.safeParse(value)
    return found.success ? (texts.get(found.data.longText) ?? []).join('') : value
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the column holds what `splitItems` made
  return JSON.parse(text, restore) as Items
}
