import { describeMedia, type Media } from '../tools/result-content.ts'
import { partsOf } from '../translate/engine/media/turn-media.ts'
import type { TurnItem, TurnPart } from '../translate/turn.ts'

/** Maximum length of the images that a conversation keeps, as base64: the limit of an upload. Characters. */
export const maxImages = 10 * 1024 * 1024

/** The reasons that stand in a conversation in place of an image. */
export const notSeen = 'left out, because this model takes no images'
export const wasRefused = 'left out, because the provider refused it'
export const isOld = 'left out, because newer images took its place'

export function imagePart({ mediaType, base64 }: Media): TurnPart {
  return { type: 'image', source: { type: 'base64', mediaType, data: base64 } }
}

export function hasImage(items: readonly TurnItem[]): boolean {
  return items.some((item) => partsOf(item).some(({ type }) => type === 'image'))
}

/** Keeps the newest images up to a length. @param reason stands in place of each other one */
export function leaveOutImages(items: readonly TurnItem[], most: number, reason: string): readonly TurnItem[] {
  if (!hasImage(items)) return items
  let left = most
  const fit = (part: TurnPart): TurnPart => {
    if (part.type !== 'image' || part.source.type !== 'base64') return part
    const { mediaType, data } = part.source
    left -= data.length
    return left >= 0 ? part : { type: 'text', text: describeMedia({ mediaType, base64: data }, reason) }
  }
  const fitAll = (parts: readonly TurnPart[]): readonly TurnPart[] => parts.toReversed().map(fit).toReversed()
  const fitItem = (item: TurnItem): TurnItem => {
    if (!partsOf(item).some(({ type }) => type === 'image')) return item
    if (item.type === 'message') return { ...item, parts: fitAll(item.parts) }
    return item.type === 'tool_result' ? { ...item, content: fitAll(partsOf(item)) } : item
  }
  return items.toReversed().map(fitItem).toReversed()
}
