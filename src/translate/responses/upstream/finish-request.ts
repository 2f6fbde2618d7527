import type { EncodeContext } from '../../dialect.ts'
import { withoutLearnedFields } from '../../learned-refusals.ts'
import type { JsonObject } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { isLite, liteHeaders, toLite } from './lite.ts'
import { isChatgpt } from './model-profile.ts'
import type { UpstreamReplyNotes } from './normalise/state.ts'
import { callNotes } from './normalise/wrapper-calls.ts'
import type { Session } from './session.ts'

export interface Finished {
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly replyNotes: UpstreamReplyNotes
}

/**
 * The last step of a passed request and of an encoded Turn: It drops members that upstream has refused before, names
 * the session, and writes the form that the backend requires.
 *
 * @param members of the request; a dropped member is undefined
 * @param toWarning returns the warning for a refused field; undefined if dropping it needs none
 */
export function finishRequest(
  members: JsonObject,
  { key, headers }: Session,
  context: EncodeContext,
  warnings: Warning[],
  toWarning: (field: string) => Warning | undefined,
): Finished {
  const stated = Object.entries({ ...members, prompt_cache_key: key }).filter(([, value]) => value !== undefined)
  const whole: JsonObject = Object.fromEntries(stated)
  const kept = withoutLearnedFields(whole, context.learnedRefusals)
  for (const field of kept?.fields ?? []) {
    const warning = toWarning(field)
    if (warning !== undefined) warnings.push(warning)
  }
  const body = kept?.body ?? whole
  if (!isChatgpt(context)) return { body, replyNotes: { calls: callNotes(body) } }
  if (!isLite(context)) return { body, headers, replyNotes: { calls: callNotes(body) } }
  const lite = toLite(body, warnings)
  return {
    body: lite.body,
    headers: { ...headers, ...liteHeaders },
    replyNotes: { calls: callNotes(body, lite.grouped) },
  }
}
