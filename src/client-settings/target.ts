import type { ChosenModels } from './choose-models.ts'
import type { ClientModel } from './client-model.ts'

/** What a client is pointed at. */
export interface Target {
  /** Of the daemon, e.g. `http://127.0.0.1:4141`. */
  readonly url: string
  /** What it presents as its key. */
  readonly key: string
  /** Whether the daemon asks for that key; otherwise any text will do. */
  readonly isKeyAsked: boolean
  readonly chosen: ChosenModels
  /** All that the client may offer to choose from. */
  readonly models: readonly ClientModel[]
}

/** What callers present where no key is asked for: most clients want some. */
export const anyKey = 'copilot-proxy'

/** What our entries are called in files that hold those of others. */
export const providerName = 'copilot-proxy'
