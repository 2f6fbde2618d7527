import { failure, invalidBody } from './failures.ts'
import { parseMarkers } from './markers.ts'
import { AUTO_DISCOUNT, AUTO_POOL, findModel } from './models.ts'
import { jsonReply } from './outcome.ts'
import type { Outcome } from './outcome.ts'

/** The first model of the pool answers prompts of fewer characters than this. */
const SHORT_PROMPT = 200
/** The models that the tiers choose; `fast` is not supported. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ['efficiency', 'gpt-5-mini'],
  ['balance', 'gpt-5.4'],
  ['intelligence', 'claude-sonnet-5'],
])
/** Upstream offers no way to extend a session. */
const LIFE_SECONDS = 24 * 60 * 60

/** The models that a session token allows, and its expiry. */
export interface AutoSession {
  readonly models: readonly string[]
  readonly untilSeconds: number
}

/** Chooses models for `auto`. */
export interface AutoMode {
  /** `POST /auto`. */
  readonly choose: (body: string) => Outcome
  /** Issues a session token for these models and returns the members of the reply. */
  readonly issue: (models: readonly string[]) => Readonly<Record<string, unknown>>
}

/** @param sessions receives every issued session, by token */
export function createAutoMode(now: () => number, sessions = new Map<string, AutoSession>()): AutoMode {
  let count = 0

  const issue = (models: readonly string[]) => {
    count += 1
    const token = `auto-demo-${count}`
    const untilSeconds = Math.floor(now() / 1000) + LIFE_SECONDS
    sessions.set(token, { models, untilSeconds })
    return {
      session_token: token,
      expires_at: untilSeconds,
      discounted_costs: Object.fromEntries(models.map((model) => [model, AUTO_DISCOUNT])),
    }
  }

  return {
    issue,
    choose: (body) => {
      const { prompt, has_image: hasImage, tier } = fieldsOf(body)
      if (typeof prompt !== 'string' || prompt === '') return invalidBody('prompt is required')
      const ofTier = typeof tier === 'string' ? TIERS.get(tier) : undefined
      if (tier !== undefined && ofTier === undefined) return invalidBody('tier is not supported')
      const wanted = parseMarkers(prompt).asked.get('auto')?.[0]
      const model = findModel(
        wanted ?? ofTier ?? (prompt.length > SHORT_PROMPT || hasImage === true ? AUTO_POOL[1] : AUTO_POOL[0]) ?? '',
      )
      if (model === undefined) return failure(503, { message: 'no model could be chosen', code: '' })
      const { id, name, vendor, version, capabilities, supported_endpoints } = model.entry
      const selected = { id, name, vendor, version, capabilities, supported_endpoints }
      return jsonReply(200, { ...issue([model.id]), selected_model: selected })
    },
  }
}

/** The members of a JSON object; none for any other text. */
export function fieldsOf(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
