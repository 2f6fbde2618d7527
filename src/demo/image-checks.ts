import type { Conversation, SeenImage } from './conversation.ts'
import { failure, invalidBody } from './failures.ts'
import type { DemoModel } from './models.ts'
import type { Outcome } from './outcome.ts'
import type { DemoSettings } from './settings.ts'

interface Subject {
  readonly conversation: Conversation
  readonly model: DemoModel
  readonly call: { readonly settings: DemoSettings }
}

/** As the catalogue states it for every model with vision. Bytes. */
export const LARGEST_IMAGE = 3_145_728

/**
 * The limits of images, the same on every route (docs/copilot-wire.md, "Images"). The words for one that is too large
 * are worded after the neighbouring ones; that upstream itself keeps Gemini to 10 is assumed.
 */
export function refuseImages({ conversation: { history }, model, call: { settings } }: Subject): Outcome | undefined {
  const images = history.flatMap((said): readonly SeenImage[] => {
    if ('images' in said) return said.images
    return 'image' in said ? [said.image] : []
  })
  if (images.length === 0) return undefined
  const total = images.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > settings.maxImageBytes) return failure(413, { message: 'failed to parse request', code: '' })
  const most = model.habit.startsWith('gemini') ? 10 : 20
  if (images.length > most) return invalidBody(`too many URL images in request (max ${most})`)
  const large = images.find(({ bytes }) => bytes > LARGEST_IMAGE)
  return large && invalidBody(`image exceeds the maximum size: ${large.bytes} bytes > ${LARGEST_IMAGE} bytes`)
}
