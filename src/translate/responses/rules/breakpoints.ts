import type { EncodeContext } from '../../dialect.ts'
import { isFilled, type JsonObject, objectsOf } from '../../../json/json.ts'
import { isGptFrom, modelFamily } from '../../engine/model-family.ts'
import { itemTypeOf, mapParts } from '../items/item.ts'
import { NO_BREAKPOINTS } from './learned-refusals.ts'
import { isChatgpt } from './model-profile.ts'

// Source: docs/copilot-wire.md, "Prompt caching".

const KEY = 'prompt_cache_breakpoint'

/** Limit for one request. */
const mostBreakpoints = 4

const markedParts: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file'])

/** GPT-5.6 and later. Older models refuse the parameter's name. */
export function takesBreakpoints(context: EncodeContext): boolean {
  const { model, learnedRefusals } = context
  return !isChatgpt(context) && isGptFrom(modelFamily(model), 5, 6) && !learnedRefusals.has(NO_BREAKPOINTS)
}

/**
 * Returns the items with the breakpoints that upstream accepts. If there are too many, it keeps the last ones, which
 * cover the most. Returns the same array if nothing changes. Gives no warning, because caching changes only the price
 * of an answer.
 */
export function fitBreakpoints(items: readonly JsonObject[], context: EncodeContext): readonly JsonObject[] {
  const takes = takesBreakpoints(context)
  const isPlaced = (item: JsonObject, part: JsonObject): boolean =>
    takes && itemTypeOf(item) === 'message' && item['role'] !== 'assistant' && markedParts.has(part['type'])
  let total = 0
  const placed = mapMarked(items, (item, part) => {
    if (!isPlaced(item, part)) return false
    total += 1
    return true
  })
  let excess = total - mostBreakpoints
  return excess <= 0 ? placed : mapMarked(placed, () => (excess -= 1) < 0)
}

/**
 * Moves the system prompt of an encoded request to the instructions: an encoder puts it into the input only for its
 * breakpoints. Undefined if it is not there.
 */
export function toInstructions({ input }: JsonObject) {
  const items: readonly JsonObject[] = objectsOf(input)
  const after = items.findIndex((item) => item['role'] !== 'developer' || !objectsOf(item['content']).every(isText))
  const system = after === -1 ? items : items.slice(0, after)
  if (system.length === 0) return undefined
  const texts = system.flatMap((item) =>
    objectsOf(item['content']).flatMap(({ text }) => (isFilled(text) ? [text] : [])),
  )
  return { input: items.slice(system.length), instructions: texts.join('\n\n') }
}

function isText({ type }: JsonObject): boolean {
  return type === 'input_text'
}

/** Whether a part that has a breakpoint keeps it. */
type Keeps = (item: JsonObject, part: JsonObject) => boolean

function mapMarked(items: readonly JsonObject[], keeps: Keeps): readonly JsonObject[] {
  const mapped = items.map((item) =>
    mapParts(item, (part) => {
      if (part[KEY] === undefined || keeps(item, part)) return part
      const { [KEY]: _mark, ...members } = part
      return members
    }),
  )
  return mapped.some((item, at) => item !== items[at]) ? mapped : items
}
