import { createLruMap } from '../cache/lru-map.ts'
import type { LruMap } from '../cache/lru-map.ts'
import type { CallerKey } from '../config/caller.ts'
import type { Config } from '../config/schema.ts'
import type { ProxyError } from '../errors.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import type { ModelRegistry } from '../models/registry.ts'
import type { ReplyMemory } from '../translate/reply-memory.ts'
import type { Admission } from './admission.ts'
import type { AutoChoices } from './auto-choices.ts'
import type { CacheWatch } from './cache-watch.ts'
import type { MeterDeps } from './request-meter.ts'

/** The models and connections of one account, or of the accounts in use. */
export interface ModelAccess {
  readonly registry: ModelRegistry
  /**
   * Fetches the model lists that may contain the name and were never fetched. Returns the error of a failed fetch.
   * `retry`: also retries lists whose last fetch failed.
   * @throws the signal's reason on abort
   */
  readonly completeModels: (
    name: string,
    options: { readonly retry: boolean; readonly signal: AbortSignal },
  ) => Promise<ProxyError | undefined>
  /** @throws Fault `codex_unavailable` if Codex is switched off */
  readonly executorOf: (provider: ProviderId) => Executor
}

export interface PipelineDeps extends MeterDeps {
  readonly config: () => Config
  /** For a request of the key that begins now, and for its later parts. The same object as long as the account is the same. */
  readonly accessOf: (key: CallerKey | undefined) => ModelAccess
  /** Call before `accessOf`: follows a login that was made since the last check. Undefined if there is nothing to wait for. */
  readonly followLogin?: (key: CallerKey | undefined) => Promise<void> | undefined
  readonly log: Logger
  /** Removes known credentials from upstream's text. */
  readonly redact: (text: string) => string
  /** Random per run, so that a prompt cannot be guessed from an id that is derived from it. */
  readonly salt: string
  readonly randomId: () => string
}

/** State that all model requests of one account share; all but the access to models is shared by all accounts. */
export interface PipelineState extends Omit<PipelineDeps, 'accessOf' | 'followLogin'>, ModelAccess {
  readonly admission: Admission
  readonly learnedRefusals: LearnedRefusals
  readonly cacheWatch: CacheWatch
  /** What is kept of earlier replies for requests with this key. */
  readonly memoryOf: (key: CallerKey | undefined) => ReplyMemory
  readonly autoChoices: AutoChoices
}

/**
 * The parts that upstream refused for each model, so that later requests omit them for an hour. Kept in memory only: a
 * new configuration does not change them, and a restart forgets them.
 */
export interface LearnedRefusals {
  /** Keys as the dialect's `recover` names them, the newest last. */
  readonly of: (route: string, modelId: string) => ReadonlySet<string>
  readonly learn: (
    route: string,
    modelId: string,
    key: string,
    options?: {
      /** The key is only kept if the model has refused the same within the hour before. */
      readonly fromSecondRefusal?: boolean | undefined
    },
  ) => void
}

/** More than this is noise from a broken upstream. */
const mostPerModel = 64

/**
 * Upstream lifts some refusals, and some come from one backend of several: after this time, the part is sent again, and
 * upstream either accepts or refuses it anew. Ms.
 */
const learnedLifeMs = 60 * 60_000

const none: ReadonlySet<string> = new Set()

/** @param now ms since epoch */
export function createLearnedRefusals(now: () => number): LearnedRefusals {
  // One entry for each model that ever refused something: bounded by the model list.
  const byModel = new Map<string, RefusalsOfModel>()
  const isStale = (atMs: number): boolean => now() - atMs >= learnedLifeMs
  const createRefusals = (): LruMap<number> => createLruMap({ maxEntries: mostPerModel, isStale })
  return {
    of(route, modelId) {
      const learned = byModel.get(`${route} ${modelId}`)?.learned
      return learned === undefined ? none : new Set(learned.keys().filter((key) => learned.peek(key) !== undefined))
    },
    learn(route, modelId, key, { fromSecondRefusal = false } = {}) {
      const model = `${route} ${modelId}`
      const { refusedOnce, learned } = byModel.get(model) ?? {
        refusedOnce: createRefusals(),
        learned: createRefusals(),
      }
      byModel.set(model, { refusedOnce, learned })
      const isKnown = learned.peek(key) !== undefined || refusedOnce.peek(key) !== undefined
      // A key that is learned again becomes the newest. The newer of two contradictory keys then wins, and keys that
      // every request needs outlive those of a single caller.
      if (isKnown || !fromSecondRefusal) learned.set(key, now())
      else refusedOnce.set(key, now())
    },
  }
}

/** Keys of refusals. The values are the times of the last refusal, in ms since epoch. */
interface RefusalsOfModel {
  /** Apart from `learned`, so that members that only one request has push no learned key out. */
  readonly refusedOnce: LruMap<number>
  readonly learned: LruMap<number>
}
