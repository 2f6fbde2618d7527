import type { InferencePath } from '../../inference.ts'
import type { DemoModel } from '../catalogue-models.ts'
import { failure } from '../failures.ts'
import type { Outcome } from '../../http/outcome.ts'
import type { JsonObject } from '../../../../src/json/json.ts'

/** A request as a row reads it: the JSON that was sent, and no dialect of the proxy. */
export interface SentRequest {
  readonly path: InferencePath
  readonly body: JsonObject
  readonly bodyBytes: number
  readonly header: (name: string) => string | undefined
  readonly model: DemoModel
  /** Tokens that prompt and answer may have together on this host. */
  readonly windowTokens: number
  /** What stood before each thought that this host has sent, by its signature. */
  readonly bound: ReadonlyMap<string, readonly [head: string, ...messages: string[]]>
}

/**
 * Where a row holds:
 * - `everywhere`: on every host. All that GitHub's own programs send passes it (`npm run test:official`).
 * - `some hosts`: reported by users of some of Copilot's hosts. GitHub's own programs send it, or a host may take it.
 * - `if asked`: only on a host that a test describes, because every ordinary request of its kind would be refused.
 */
export type Scope = 'everywhere' | 'some hosts' | 'if asked'

/** One thing that upstream refuses. */
export interface RefusalRow {
  readonly id: string
  readonly routes: readonly InferencePath[]
  readonly models: (model: DemoModel) => boolean
  readonly scope: Scope
  /** Upstream's words, or undefined if the row takes the request. */
  readonly judge: (sent: SentRequest) => string | undefined
  /** The reply with these words. Default: a 400 with the code `invalid_request_body`. */
  readonly reply?: (words: string) => Outcome
  /** Public reports, or the page that states the fact. */
  readonly source: string
}

export const CHAT: InferencePath = '/chat/completions'
export const RESPONSES: InferencePath = '/responses'
export const MESSAGES: InferencePath = '/v1/messages'

export function isClaude({ profile }: DemoModel): boolean {
  return profile === 'claude'
}

export function isGpt({ profile }: DemoModel): boolean {
  return profile === 'gpt-4' || profile === 'gpt-5'
}

export function isGemini({ profile }: DemoModel): boolean {
  return profile.startsWith('gemini')
}

export function isAny(): boolean {
  return true
}

/** A 400 with this code, labelled text/plain as Copilot's are. */
export function withCode(code: string): (message: string) => Outcome {
  return (message) => failure(400, { message, code })
}
