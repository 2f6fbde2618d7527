import { isObject } from '../json/json.ts'
import { callerKeyVariable } from '../config/environment.ts'
import { nativeDialect, providerName } from './target.ts'
import type { ClientModel, Target } from './target.ts'
import { readJsonc } from '../json/jsonc.ts'

/** Source: opencode.ai/docs/providers, opencode.ai/config.json (2026-11). */
export interface OpencodeSettings {
  readonly model: string
  readonly small_model: string
  /** `provider.copilot-proxy`. */
  readonly provider: object
}

export function opencodeSettings({ url, key, isKeyAsked, chosen, models }: Target): OpencodeSettings {
  return {
    model: `${providerName}/${chosen.main.id}`,
    small_model: `${providerName}/${chosen.small.id}`,
    provider: {
      npm: packages.chat,
      name: providerName,
      // opencode substitutes the variable.
      options: { baseURL: `${url}/v1`, apiKey: isKeyAsked ? `{env:${callerKeyVariable}}` : key },
      models: Object.fromEntries(models.map((model) => [model.id, modelSettings(model)])),
    },
  }
}

/** The package for each API. */
const packages = {
  chat: '@ai-sdk/openai-compatible',
  responses: '@ai-sdk/openai',
  messages: '@ai-sdk/anthropic',
} as const

function modelSettings(model: ClientModel): object {
  const dialect = nativeDialect(model)
  const { contextTokens: context, outputTokens: output, vision, thinks, tools } = model
  return {
    name: model.id,
    ...(dialect !== 'chat' && { provider: { npm: packages[dialect] } }),
    ...(thinks && { reasoning: true }),
    ...(!tools && { tool_call: false }),
    // Without it opencode sends no images.
    modalities: { input: vision ? ['text', 'image'] : ['text'], output: ['text'] },
    // Without it opencode does not know when to compact. It requires both or neither.
    ...(context !== undefined && output !== undefined && { limit: { context, output } }),
    ...costOf(model),
  }
}

function dollars(credits: number | null = null): number | undefined {
  return credits === null ? undefined : Number((credits / 100).toFixed(6))
}

/** US dollars per million tokens. opencode requires the first two or none. */
function costOf({ prices }: ClientModel): object {
  const [input, output] = [dollars(prices?.input), dollars(prices?.output)]
  if (input === undefined || output === undefined) return {}
  const [read, write] = [dollars(prices?.cache_read), dollars(prices?.cache_write)]
  return {
    cost: {
      input,
      output,
      ...(read !== undefined && { cache_read: read }),
      ...(write !== undefined && { cache_write: write }),
    },
  }
}

/**
 * The value of OPENCODE_CONFIG_CONTENT, which overrides opencode's files.
 * @param present the user's own value
 * @param enabled `enabled_providers` of the user's files; opencode ignores all others
 */
export function opencodeContent(target: Target, present: string | undefined, enabled?: readonly string[]): string {
  const { provider, ...models } = opencodeSettings(target)
  const theirs = toObject(readJsonc(present ?? ''))
  const { enabled_providers: admitted = enabled } = theirs
  return JSON.stringify({
    ...theirs,
    ...models,
    ...(Array.isArray(admitted) && { enabled_providers: [...new Set([...admitted, providerName])] }),
    provider: { ...toObject(theirs['provider']), [providerName]: provider },
  })
}

/** {} for anything else. */
function toObject(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? { ...value } : {}
}
