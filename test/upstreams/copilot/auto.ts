import { fieldsOf } from '../../../src/demo/auto.ts'
import type { AutoMode, AutoSession } from '../../../src/demo/auto.ts'
import { invalidBody } from '../../../src/demo/failures.ts'
import { AUTO_POOL } from '../../../src/demo/models.ts'
import { jsonReply, textReply } from '../../../src/demo/outcome.ts'
import type { Outcome } from '../../../src/demo/outcome.ts'
import type { CopilotRoute } from './routes.ts'
import type { CopilotSettings } from './settings.ts'

interface AutoCall {
  readonly header: (name: string) => string | undefined
  readonly body: string
}

interface AutoState {
  readonly auto: AutoMode
  readonly available: CopilotSettings['autoWays']
}

/**
 * The parts of `auto` that the demo lacks: `/models/session`, and the refusal of `/auto` if it is absent or the API
 * version is too old.
 */
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
