import type { EncodeContext, UpstreamRefusal } from '../../dialect.ts'
import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { LITE } from '../lessons.ts'

/**
 * The lesson that helps where the ChatGPT backend takes the model in the lite form only: it then says that there is no
 * such model, or misses what that form has (docs/codex-wire.md, "Lite form"). Undefined for any other refusal.
 */
export function liteLesson(
  { reasoning }: JsonObject,
  { status, message }: UpstreamRefusal,
  { profile, lite, lessons }: EncodeContext,
): string | undefined {
  if (profile !== 'chatgpt' || lite !== 'auto' || lessons.has(LITE)) return undefined
  if (status === 404) return /model not found/i.test(message) ? LITE : undefined
  // What was sent and is refused has to go, whatever the form.
  const context = isObject(reasoning) ? reasoning['context'] : undefined
  return context === undefined && /reasoning\.context|all_turns/i.test(message) ? LITE : undefined
}
