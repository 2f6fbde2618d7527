import type { Conversation, SeenImage } from '../answer/conversation.ts'
import { failure, invalidBody } from './failures.ts'
import { LARGEST_IMAGE } from './catalogue-models.ts'
import type { DemoModel } from './catalogue-models.ts'
import type { Outcome } from '../http/outcome.ts'

interface Subject {
  readonly conversation: Conversation
  readonly model: DemoModel
}

/**
 * Checks the limits of images, which are the same on every route (docs/copilot-wire.md, "Images"). Two guesses: the
 * wording for an image that is too large, and that upstream itself limits Gemini to 10.
 */
export function refuseImages(
  { conversation: { history }, model }: Subject,
  maxTotalBytes: number,
): Outcome | undefined {
  const images = history.flatMap((said): readonly SeenImage[] => {
    if ('images' in said) return said.images
    return 'image' in said ? [said.image] : []
  })
  if (images.length === 0) return undefined
  const total = images.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > maxTotalBytes) return failure(413, { message: 'failed to parse request', code: '' })
  const most = model.profile.startsWith('gemini') ? 10 : 20
  if (images.length > most) return invalidBody(`too many URL images in request (max ${most})`)
  const large = images.find(({ bytes }) => bytes > LARGEST_IMAGE)
  return large && invalidBody(`image exceeds the maximum size: ${large.bytes} bytes > ${LARGEST_IMAGE} bytes`)
}
