import { Fault } from '../errors.ts'
import type { Executor } from '../executors/executor.ts'
import type { Logger } from '../log.ts'
import { isAutoModel, parseAutoReply } from '../models/auto-model.ts'
import type { Model } from '../models/model.ts'
import type { ModelRegistry } from '../models/registry.ts'
import type { CallerRequest } from '../translate/dialect.ts'
import type { Warning } from '../translate/warning.ts'
import { hash } from './interaction.ts'

/** The model that upstream has chosen for a conversation. */
export interface AutoChoice {
  readonly model: Model
  /** Upstream bills the conversation's requests by it; undefined where it chose nothing. */
  readonly sessionToken: string | undefined
  readonly warnings: readonly Warning[]
}

type AutoAsk = Pick<CallerRequest, 'sessionId' | 'prompts' | 'hasImage'>

/**
 * Which model answers a conversation whose caller asks for `auto`: the same one from its first request to its last, since
 * another model could not use the prompt cache.
 */
export interface AutoChoices {
  /**
   * @param stale a choice that upstream no longer knows
   * @throws Fault where the account is refused, or upstream cannot be reached
   */
  readonly choose: (ask: AutoAsk, requestId: string, stale?: AutoChoice) => Promise<AutoChoice>
  /** What was chosen before. */
  readonly kept: (ask: AutoAsk) => AutoChoice | undefined
}

export interface AutoChoicesDeps {
  /** Copilot's. */
  readonly executor: () => Pick<Executor, 'json'>
  readonly registry: Pick<ModelRegistry, 'list' | 'resolve'>
  /** Ms since epoch. */
  readonly now: () => number
  readonly log: Pick<Logger, 'info' | 'debug'>
}

/** As GitHub's clients wait. Ms. */
const longestWaitMs = 5000
/** Conversations. */
const mostKept = 500
/** A token lives for a day; one whose end is not stated is asked for again sooner. Ms. */
const unstatedLifeMs = 60 * 60_000
/** Until upstream is asked again after it has chosen nothing. Ms. */
const defaultLifeMs = 5 * 60_000

interface Kept {
  readonly choice: AutoChoice
  readonly untilMs: number
}

/** Newest first. Source: docs/copilot-wire.md, "Auto model". */
const ways = [
  {
    path: '/auto',
    body: ({ prompts, hasImage }: AutoAsk) => ({
      // A prompt is wanted also where there is only an image.
      prompt: prompts.last === '' ? 'Continue.' : prompts.last,
      ...(hasImage && { has_image: true }),
    }),
  },
  { path: '/models/session', body: () => ({ auto_mode: { model_hints: ['auto'] } }) },
] as const

export function createAutoChoices(
  { executor, registry, now, log }: AutoChoicesDeps,
  waitMs: number = longestWaitMs,
): AutoChoices {
  // In the order of last use: a Map iterates by insertion.
  const keptBy = new Map<string, Kept>()
  const flights = new Map<string, Promise<AutoChoice>>()

  /** The account's own entry says more than the one that comes with a choice. */
  function known(model: Model): Model | undefined {
    const found = registry.resolve(`copilot/${model.id}`)
    return found.ok ? found.value.model : undefined
  }

  function recall(key: string, { hasImage }: AutoAsk): AutoChoice | undefined {
    const kept = keptBy.get(key)
    if (kept === undefined) return undefined
    keptBy.delete(key)
    if (kept.untilMs <= now()) return undefined
    keptBy.set(key, kept)
    const model = known(kept.choice.model) ?? kept.choice.model
    return hasImage && model.supports.vision === false ? undefined : { ...kept.choice, model }
  }

  function keep(key: string, choice: AutoChoice, untilMs: number): AutoChoice {
    keptBy.set(key, { choice, untilMs })
    for (const oldest of keptBy.keys()) {
      if (keptBy.size <= mostKept) break
      keptBy.delete(oldest)
    }
    return choice
  }

  async function askUpstream(key: string, ask: AutoAsk, requestId: string): Promise<AutoChoice> {
    // One limit for all ways: the caller waits for the sum of them.
    const signal = AbortSignal.timeout(waitMs)
    for (const { path, body } of ways) {
      if (signal.aborted) break
      const reply = await post(path, JSON.stringify(body(ask)), requestId, signal)
      const parsed = reply === undefined ? undefined : parseAutoReply(reply)
      const model = parsed && (parsed.candidates.map(known).find((found) => found) ?? parsed.candidates[0])
      if (parsed === undefined || model === undefined) continue
      const { sessionToken, expiresAtSeconds } = parsed
      const untilMs = expiresAtSeconds === undefined ? now() + unstatedLifeMs : expiresAtSeconds * 1000
      log.info({ requestId, model: model.id, path }, 'upstream has chosen the model of a conversation')
      return keep(key, { model, sessionToken, warnings: [] }, untilMs)
    }
    const model = defaultModel()
    const detail = `Copilot chose no model; ${model.id} answers`
    const warnings = [{ code: 'auto_unavailable', field: 'model', detail } as const]
    return keep(key, { model, sessionToken: undefined, warnings }, now() + defaultLifeMs)
  }

  /** Undefined where upstream has no such way of choosing, or does not choose in time. */
  async function post(path: string, body: string, requestId: string, signal: AbortSignal): Promise<unknown> {
    try {
      return await executor().json({ path, body, initiator: 'agent', hasImage: false, requestId }, { signal })
    } catch (error) {
      if (!signal.aborted && concernsAccount(error)) throw error
      log.debug({ requestId, path, err: error }, 'upstream chose no model')
      return undefined
    }
  }

  function defaultModel(): Model {
    const models = registry.list().map(({ model }) => model)
    const able = models.filter((model) => model.provider === 'copilot' && model.type === 'chat' && !isAutoModel(model))
    const found =
      able.find(({ isChatDefault }) => isChatDefault === true) ?? able.find(({ id }) => id === 'gpt-5-mini') ?? able[0]
    if (found !== undefined) return found
    throw new Fault({ kind: 'model_not_found', model: 'auto', suggestions: [], detail: 'Copilot chose no model.' })
  }

  return {
    kept: (ask) => recall(keyOf(ask), ask),
    async choose(ask, requestId, stale) {
      const key = keyOf(ask)
      const kept = recall(key, ask)
      // Another request of the conversation may have chosen anew meanwhile.
      if (kept !== undefined && (stale === undefined || kept.sessionToken !== stale.sessionToken)) return kept
      // A client's first requests come at once, and are answered by one model. Whoever leaves takes nobody's choice along.
      // A model that is chosen for text alone may not see an image.
      const flightKey = `${key} ${ask.hasImage}`
      const flight = flights.get(flightKey) ?? askUpstream(key, ask, requestId).finally(() => flights.delete(flightKey))
      flights.set(flightKey, flight)
      return await flight
    },
  }
}

function keyOf({ sessionId, prompts }: AutoAsk): string {
  return hash([sessionId === undefined ? 'by its beginning' : 'by its name', sessionId ?? prompts.first])
}

/** The request itself would fail for the same reason, and says it better. */
function concernsAccount(error: unknown): boolean {
  if (!(error instanceof Fault)) return true
  const { kind } = error.error
  if (kind === 'upstream_status') return error.error.status === 402 || error.error.status === 429
  return kind !== 'upstream_unusable' && kind !== 'upstream_silent'
}
