import { failure, invalidBody } from './failures.ts'
import { AUTO_DISCOUNT, AUTO_POOL } from './catalogue-models.ts'
import { MODELS } from './models.ts'
import { jsonReply, textReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'
import type { CopilotRoute } from './routes.ts'
import type { CopilotSettings } from './settings.ts'

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
      const model = MODELS.find(
        ofTier ?? (prompt.length > SHORT_PROMPT || hasImage === true ? AUTO_POOL[1] : AUTO_POOL[0]) ?? '',
      )
      if (model === undefined) return failure(503, { message: 'no model could be chosen', code: '' })
      const { id, name, vendor, version, capabilities, supported_endpoints } = model.entry
      const selected = { id, name, vendor, version, capabilities, supported_endpoints }
      return jsonReply(200, { ...issue([model.id]), selected_model: selected })
    },
  }
}

/** The members of a JSON object; none for any other text. */
function fieldsOf(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

interface AutoCall {
  readonly header: (name: string) => string | undefined
  readonly body: string
}

interface AutoState {
  readonly auto: AutoMode
  readonly available: CopilotSettings['autoWays']
}

/** Answers `/models/session`, and refuses `/auto` if it is absent or the API version is too old. */
export function answerAuto(
  route: CopilotRoute,
  { header, body }: AutoCall,
  { auto, available }: AutoState,
): Outcome | undefined {
  if (route === '/auto') {
    if (available !== 'both') return textReply(404, '404 page not found')
    return (header('x-github-api-version') ?? '') < '2026-08-01' ? textReply(404, 'invalid apiVersion') : undefined
  }
  if (route !== '/models/session') return undefined
  if (available === 'none') return textReply(404, '404 page not found')
  const { auto_mode: mode } = fieldsOf(body)
  if (typeof mode !== 'object' || mode === null) return invalidBody('auto_mode is required')
  return jsonReply(200, { available_models: AUTO_POOL, ...auto.issue(AUTO_POOL) })
}

/** Refuses a session token that is not valid for the model. A choice is valid for its own model until it expires. */
export function refuseSession(
  token: string | undefined,
  modelId: string,
  { sessions, nowMs }: { readonly sessions: ReadonlyMap<string, AutoSession>; readonly nowMs: number },
): Outcome | undefined {
  if (token === undefined) return undefined
  const session = sessions.get(token)
  const isGood = session !== undefined && session.models.includes(modelId) && nowMs < session.untilSeconds * 1000
  return isGood ? undefined : textReply(401, 'Invalid auto-mode selector')
}
