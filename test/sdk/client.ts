import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { CopilotUpstream } from '../upstreams/copilot.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy, ProxyOptions } from '../http/harness.ts'
import { codexRoutes, upstreamRoutes } from './kinds.ts'
import type { ModelKind } from './kinds.ts'

/** One model of each family that the simulated Copilot has a profile for. */
export const models = [
  'gpt-5-mini',
  'gpt-4.1',
  'claude-sonnet-4.5',
  'gemini-2.5-pro',
  'gemini-3-pro-preview',
  'grok-code-fast-1',
  // These two are not on chat: one is on Responses, one on Messages.
  'gpt-5.3-codex',
  'claude-opus-4.7',
]

/** A proxy, and the official client with its address. */
export async function openClient(options?: ProxyOptions): Promise<Proxy & { readonly openai: OpenAI }> {
  const proxy = await openProxy(options)
  return { ...proxy, openai: clientOf(proxy) }
}

/** Never retries, so that the test sees a failure as it arrived. */
export function clientOf({ url }: Proxy, apiKey = 'unused'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
}

/** As `clientOf`: never retries. Its base URL is the bare origin. */
export function anthropicOf({ url }: Proxy, apiKey = 'unused'): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 })
}

/** A proxy, and Anthropic's client with its address. */
export async function openAnthropic(options?: ProxyOptions): Promise<Proxy & { readonly anthropic: Anthropic }> {
  const proxy = await openProxy(options)
  return { ...proxy, anthropic: anthropicOf(proxy) }
}

export function says(content: string) {
  return [{ role: 'user' as const, content }]
}

/** A proxy with the login that the model needs. For a Codex model, it also has a login to Copilot. */
export function openFor({ codexLogin }: ModelKind, options?: ProxyOptions): Promise<Proxy> {
  return openProxy(codexLogin === undefined ? options : { ...options, codexLogin })
}

/** One request as an upstream received it. */
export interface Received {
  readonly route: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** The requests that the model's provider received, oldest first. Fails if the other provider received one too. */
export function promptsFor({ demo, codex }: Proxy, { codexLogin }: Pick<ModelKind, 'codexLogin'>): readonly Received[] {
  const routes: readonly string[] = Object.values(codexRoutes)
  const ofCopilot = promptsOf(demo)
  const ofCodex = codex.log.filter(({ route }) => routes.includes(route))
  const [own, other] = codexLogin === undefined ? [ofCopilot, ofCodex] : [ofCodex, ofCopilot]
  if (other.length > 0) throw new Error('the other provider was asked')
  return own
}

/** The requests to models that the simulated Copilot answered, in any dialect, oldest first. */
export function promptsOf({ log }: CopilotUpstream): CopilotUpstream['log'] {
  const routes: readonly string[] = Object.values(upstreamRoutes)
  return log.filter(({ route }) => routes.includes(route))
}

/** The error that the promise rejects with. Fails if it resolves. */
export async function thrownBy(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** The text of a Messages reply, from all of its text blocks. */
export function textOf({ content }: { readonly content: readonly Block[] }): string {
  return content.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : '')).join('')
}

/** A block of either of the package's two APIs. */
interface Block {
  readonly type: string
  readonly text?: unknown
}
