import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { CopilotUpstream } from '../upstreams/copilot.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy, ProxyOptions } from '../http/harness.ts'
import { codexRoutes, upstreamRoutes } from './kinds.ts'
import type { ModelKind } from './kinds.ts'

/** One model of each family whose habits the simulated Copilot has. */
export const models = [
  'gpt-5-mini',
  'gpt-4.1',
  'claude-sonnet-4.5',
  'gemini-2.5-pro',
  'gemini-3-pro-preview',
  'grok-code-fast-1',
  // Not over chat: one over responses, one over messages.
  'gpt-5.3-codex',
  'claude-opus-4.7',
]

/** A proxy, and the official client pointed at it. */
export async function openClient(options?: ProxyOptions): Promise<Proxy & { readonly openai: OpenAI }> {
  const proxy = await openProxy(options)
  return { ...proxy, openai: clientOf(proxy) }
}

/** Repeats nothing by itself, so that a failure is seen as it came. */
export function clientOf({ url }: Proxy, apiKey = 'unused'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
}

/** As `clientOf`: repeats nothing by itself. Its base URL is the bare origin. */
export function anthropicOf({ url }: Proxy, apiKey = 'unused'): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 })
}

/** A proxy, and Anthropic's client pointed at it. */
export async function openAnthropic(options?: ProxyOptions): Promise<Proxy & { readonly anthropic: Anthropic }> {
  const proxy = await openProxy(options)
  return { ...proxy, anthropic: anthropicOf(proxy) }
}

export function says(content: string) {
  return [{ role: 'user' as const, content }]
}

/** A proxy with the login that the model needs; for one of Codex's beside a login to Copilot. */
export function openFor({ codexLogin }: ModelKind, options?: ProxyOptions): Promise<Proxy> {
  return openProxy(codexLogin === undefined ? options : { ...options, codexLogin })
}

/** What an upstream has received of one request. */
export interface Received {
  readonly route: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** The requests that the provider of the model has received, oldest first; fails where the other got one as well. */
export function promptsFor({ demo, codex }: Proxy, { codexLogin }: Pick<ModelKind, 'codexLogin'>): readonly Received[] {
  const routes: readonly string[] = Object.values(codexRoutes)
  const ofCopilot = promptsOf(demo)
  const ofCodex = codex.log.filter(({ route }) => routes.includes(route))
  const [own, other] = codexLogin === undefined ? [ofCopilot, ofCodex] : [ofCodex, ofCopilot]
  if (other.length > 0) throw new Error('the other provider was asked')
  return own
}

/** The requests the simulated Copilot has answered as a model, whatever their dialect, oldest first. */
export function promptsOf({ log }: CopilotUpstream): CopilotUpstream['log'] {
  const routes: readonly string[] = Object.values(upstreamRoutes)
  return log.filter(({ route }) => routes.includes(route))
}

/** What was thrown; fails where nothing was. */
export async function thrownBy(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** What a message of the Messages API says, in all its blocks of text. */
export function textOf({ content }: { readonly content: readonly Block[] }): string {
  return content.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : '')).join('')
}

/** Any block of either of the package's two APIs. */
interface Block {
  readonly type: string
  readonly text?: unknown
}
