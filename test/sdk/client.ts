import OpenAI from 'openai'
import { openProxy } from '../http/harness.ts'
import type { Proxy, ProxyOptions } from '../http/harness.ts'

/** One model of each family whose habits the simulated Copilot has. */
export const models = [
  'gpt-5-mini',
  'gpt-4.1',
  'claude-sonnet-4.5',
  'gemini-2.5-pro',
  'gemini-3-pro-preview',
  'grok-code-fast-1',
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

export function says(content: string) {
  return [{ role: 'user' as const, content }]
}
