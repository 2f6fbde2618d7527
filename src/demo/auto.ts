import { failure, invalidBody } from './failures.ts'
import { parseMarkers } from './markers.ts'
import { AUTO_DISCOUNT, AUTO_POOL, findModel } from './models.ts'
import { jsonReply, textReply } from './outcome.ts'
import type { Outcome, WholeReply } from './outcome.ts'

/** Which ways of choosing a model the simulated Copilot has: the one of August 2026 and the one before it. */
export type AutoWays = 'both' | 'session' | 'none'

/** The first model of the pool is for short prompts. */
const SHORT_PROMPT = 200
/** There is no way to lengthen it. */
const LIFE_SECONDS = 24 * 60 * 60

/** Chooses models and remembers for what. The fake keeps the rule that a choice is good for its own model, until its end. */
export interface AutoMode {
  /** `POST /auto`. */
  readonly choose: (body: string, apiVersion: string | undefined, ways: AutoWays) => Outcome
  /** `POST /models/session`. */
  readonly openSession: (body: string, ways: AutoWays) => Outcome
  /** What a request with a session token is refused with; undefined where the token is good for the model. */
  readonly refuse: (token: string | undefined, modelId: string) => WholeReply | undefined
  /** Every choice so far is forgotten. */
  readonly expireAll: () => void
}

export function createAutoMode(now: () => number): AutoMode {
  const issued = new Map<string, { readonly models: readonly string[]; readonly untilSeconds: number }>()
  let count = 0

  function issue(models: readonly string[]) {
    count += 1
    const token = `auto-demo-${count}`
    const untilSeconds = Math.floor(now() / 1000) + LIFE_SECONDS
    issued.set(token, { models, untilSeconds })
    return {
      session_token: token,
      expires_at: untilSeconds,
      discounted_costs: Object.fromEntries(models.map((model) => [model, AUTO_DISCOUNT])),
    }
  }

  return {
    choose(text, apiVersion, ways) {
      if (ways !== 'both') return textReply(404, '404 page not found')
      if (apiVersion === undefined || apiVersion < '2026-08-01') return textReply(404, 'invalid apiVersion')
      const { prompt, has_image: hasImage } = parse(text)
      if (typeof prompt !== 'string' || prompt === '') return invalidBody('prompt is required')
      const wanted = parseMarkers(prompt).asked.get('auto')?.[0]
      const model = findModel(
        wanted ?? (prompt.length > SHORT_PROMPT || hasImage === true ? AUTO_POOL[1] : AUTO_POOL[0]) ?? '',
      )
      if (model === undefined) return failure(503, { message: 'no model could be chosen', code: '' })
      const { id, name, vendor, version, capabilities, supported_endpoints } = model.entry(apiVersion)
      const selected = { id, name, vendor, version, capabilities, supported_endpoints }
      return jsonReply(200, { ...issue([model.id]), selected_model: selected })
    },
    openSession(text, ways) {
      if (ways === 'none') return textReply(404, '404 page not found')
      const { auto_mode: mode } = parse(text)
      if (typeof mode !== 'object' || mode === null) return invalidBody('auto_mode is required')
      return jsonReply(200, { available_models: AUTO_POOL, ...issue(AUTO_POOL) })
    },
    refuse(token, modelId) {
      if (token === undefined) return undefined
      const found = issued.get(token)
      const isGood = found !== undefined && found.models.includes(modelId) && now() < found.untilSeconds * 1000
      return isGood ? undefined : textReply(401, 'Invalid auto-mode selector')
    },
    expireAll: () => issued.clear(),
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
