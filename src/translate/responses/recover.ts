import type { EncodeContext, EncodedRequest, Recovery, UpstreamRefusal } from '../dialect.ts'
import { recoverFromSize } from '../images.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { scanMembers, spliceMembers, type JsonObjectBytes } from '../parts/json-members.ts'
import { liteLesson } from './recover/lite.ts'
import { recoveryRules } from './recover/rules.ts'

/** The body was checked when it came in, and is ours. */
const NO_LIMITS = { maxDepth: Infinity, maxMembers: Infinity, maxValues: Infinity }

/**
 * The request without what upstream refused of it. Where leaving out is not enough, because the reply has to be read in
 * another way too, there is only a lesson.
 */
export function recoverResponses(
  sent: EncodedRequest,
  refusal: UpstreamRefusal,
  context: EncodeContext,
): Recovery | undefined {
  if (refusal.status === 413) return recoverFromSize(sent, { member: 'input', textType: 'input_text' })
  const source = parseSent(sent.body)
  if (source === undefined) return undefined
  const lite = liteLesson(source.value, refusal, context)
  if (lite !== undefined) return { lesson: lite }
  for (const rule of recoveryRules) {
    const outcome = rule.mend(source.value, refusal)
    if (outcome === undefined) continue
    const { body, lesson, warnings = [] } = outcome
    // What was encoded with the lesson in mind and is refused again is not helped by it.
    if (body === undefined) return lesson === undefined || context.lessons.has(lesson) ? undefined : { lesson }
    const request = {
      ...sent,
      body: spliceMembers(source, changesOf(source.value, body)),
      warnings: [...sent.warnings, ...warnings],
    }
    return { request, ...(lesson !== undefined && { lesson }) }
  }
  return undefined
}

function parseSent(bytes: Buffer): JsonObjectBytes | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const scan = scanMembers(bytes.toString('latin1'), NO_LIMITS)
    return isObject(value) && scan.ok ? { bytes, value, members: scan.members } : undefined
  } catch {
    return undefined
  }
}

/** Members that differ, by identity: whatever is changed is a new value. */
function changesOf(before: JsonObject, after: JsonObject): ReadonlyMap<string, unknown> {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return new Map([
    ...removed.map((key): [string, unknown] => [key, undefined]),
    ...Object.entries(after).filter(([key, value]) => before[key] !== value),
  ])
}
