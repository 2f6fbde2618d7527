import { createLruMap } from '../cache/lru-map.ts'
import { Fault } from '../errors.ts'
import type { Executor } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import { isAutoModel, parseAutoReply } from '../models/auto-model.ts'
import type { AutoTier } from '../models/auto-model.ts'
import type { Model } from '../models/model.ts'
import type { ModelRegistry } from '../models/registry.ts'
import type { CallerRequest } from '../translate/dialect.ts'
import type { Warning } from '../translate/warning.ts'
import { hash } from './interaction.ts'

/** The model that upstream chose for a conversation. */
export interface AutoChoice {
  readonly model: Model
  /** Upstream bills the conversation's requests by it; undefined if Copilot chose no model. */
  readonly sessionToken: string | undefined
  readonly warnings: readonly Warning[]
}

type AutoAsk = Pick<CallerRequest, 'sessionId' | 'prompts' | 'hasImage'> & {
  /** Two keys may use the same session id or prompt; they share no choice. */
  readonly keyId: string | undefined
  /** Absent: upstream's own choice. */
  readonly tier?: AutoTier | undefined
}

/**
 * Chooses the model for a conversation whose caller asks for `auto`. The choice stays the same for the whole
 * conversation, because another model could not use the prompt cache.
 */
export interface AutoChoices {
  /**
   * @param stale a choice that upstream no longer knows
   * @throws Fault if upstream refuses the account or cannot be reached
   */
  readonly choose: (ask: AutoAsk, requestId: string, stale?: AutoChoice) => Promise<AutoChoice>
  /** Returns an earlier choice that is still valid. */
  readonly cached: (ask: AutoAsk) => AutoChoice | undefined
}

export interface AutoChoicesDeps {
  /** Returns Copilot's executor. */
  readonly executor: () => Pick<Executor, 'json'>
  readonly registry: Pick<ModelRegistry, 'list' | 'resolve'>
  /** Ms since epoch. */
  readonly now: () => number
  readonly log: Pick<Logger, 'info' | 'debug'>
}

/** The time limit of GitHub's clients. Ms. */
const longestWaitMs = 5000
/** Conversations. */
const maxCached = 500
/** How long a session token without a stated expiry is used; upstream's tokens live for a day. Ms. */
const unstatedLifeMs = 60 * 60_000
/** How long the default model answers after upstream chose none, before upstream is asked again. Ms. */
const defaultLifeMs = 5 * 60_000

interface CachedChoice {
  readonly choice: AutoChoice
  readonly untilMs: number
}

/** Upstream's requests for a choice, newest first. Source: docs/copilot-wire.md, "Auto model". */
const choiceRequests = [
  {
    path: '/auto',
    takesTier: true,
    body: ({ prompts, hasImage, tier }: AutoAsk) => ({
      // Upstream requires a prompt even if there is only an image.
      prompt: prompts.last === '' ? 'Continue.' : prompts.last,
      ...(hasImage && { has_image: true }),
      ...(tier !== undefined && { tier }),
    }),
  },
  { path: '/models/session', takesTier: false, body: () => ({ auto_mode: { model_hints: ['auto'] } }) },
] as const

export function createAutoChoices(
  { executor, registry, now, log }: AutoChoicesDeps,
  waitMs: number = longestWaitMs,
): AutoChoices {
  const cache = createLruMap<CachedChoice>({ maxEntries: maxCached, isStale: ({ untilMs }) => untilMs <= now() })
  const flights = new Map<string, Promise<AutoChoice>>()

  /** The account's model list has more facts than the entry in upstream's choice. */
  function known(model: Model): Model | undefined {
    const found = registry.resolve(`copilot/${model.id}`)
    return found.ok ? found.value.model : undefined
  }

  function recall(key: string, { hasImage }: AutoAsk): AutoChoice | undefined {
    const { choice } = cache.get(key) ?? {}
    if (choice === undefined) return undefined
    const model = known(choice.model) ?? choice.model
    return hasImage && model.supports.vision === false ? undefined : { ...choice, model }
  }

  function keep(key: string, choice: AutoChoice, untilMs: number): AutoChoice {
    cache.set(key, { choice, untilMs })
    return choice
  }

  async function askUpstream(key: string, ask: AutoAsk, requestId: string): Promise<AutoChoice> {
    // One limit for all attempts, because the caller waits for their sum.
    const signal = AbortSignal.timeout(waitMs)
    for (const { path, takesTier, body } of choiceRequests) {
      if (signal.aborted) break
      const reply = await post(path, JSON.stringify(body(ask)), requestId, signal)
      const parsed = reply === undefined ? undefined : parseAutoReply(reply)
      const model = parsed && (parsed.candidates.map(known).find((found) => found) ?? parsed.candidates[0])
      if (parsed === undefined || model === undefined) continue
      const { sessionToken, expiresAtSeconds } = parsed
      const untilMs = expiresAtSeconds === undefined ? now() + unstatedLifeMs : expiresAtSeconds * 1000
      log.info({ requestId, model: model.id, path }, 'Copilot chose the model of a conversation')
      const warnings = ask.tier === undefined || takesTier ? [] : [tierLost(ask.tier)]
      return keep(key, { model, sessionToken, warnings }, untilMs)
    }
    const model = defaultModel()
    const detail = `Copilot chose no model; using ${model.id}`
    const warnings = [{ code: 'auto_unavailable', field: 'model', detail } as const]
    return keep(key, { model, sessionToken: undefined, warnings }, now() + defaultLifeMs)
  }

  /** Undefined if upstream lacks this endpoint or does not choose in time. */
  async function post(path: string, body: string, requestId: string, signal: AbortSignal): Promise<unknown> {
    try {
      return await executor().json({ path, body, initiator: 'agent', hasImage: false, requestId }, { signal })
    } catch (error) {
      if (!signal.aborted && concernsAccount(error)) throw error
      log.debug({ requestId, path, err: error }, 'Copilot chose no model')
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
    cached: (ask) => recall(keyOf(ask), ask),
    async choose(ask, requestId, stale) {
      const key = keyOf(ask)
      const cached = recall(key, ask)
      // Another request of the conversation may have replaced the stale choice meanwhile.
      if (cached !== undefined && (stale === undefined || cached.sessionToken !== stale.sessionToken)) return cached
      // A client's first requests arrive together and share one choice, which no single caller's abort cancels. Requests
      // with images are separate: a model chosen for text may not support them.
      const flightKey = `${key} ${ask.hasImage}`
      const flight = flights.get(flightKey) ?? askUpstream(key, ask, requestId).finally(() => flights.delete(flightKey))
      flights.set(flightKey, flight)
      return await flight
    },
  }
}

function tierLost(tier: AutoTier): Warning {
  return { code: 'auto_unavailable', field: 'model', detail: `Copilot chose a model, but not by the tier ${tier}` }
}

function keyOf({ sessionId, prompts, keyId = '', tier }: AutoAsk): string {
  return hash([
    keyId,
    tier ?? 'any tier',
    sessionId === undefined ? 'by its beginning' : 'by its name',
    sessionId ?? prompts.first,
  ])
}

/** Failures that the model request would meet too are thrown here; any other failure means no choice. */
function concernsAccount(error: unknown): boolean {
  if (!(error instanceof Fault)) return true
  const { kind } = error.error
  if (kind === 'upstream_status') return error.error.status === 402 || error.error.status === 429
  return kind !== 'upstream_unusable' && kind !== 'upstream_silent'
}
