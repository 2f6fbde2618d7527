import { chatEndpoint, messagesEndpoint, responsesEndpoint } from '../../../src/models/endpoints.ts'
import type { Model } from '../../../src/models/model.ts'
import { codexModel, model } from '../../models/samples.ts'

/** The APIs that the daemon asks. `chatgpt` is the backend of Codex, which speaks Responses with rules of its own. */
export const upstreamIds = ['chat', 'messages', 'responses', 'chatgpt'] as const
export type UpstreamId = (typeof upstreamIds)[number]

export const pathOf: Readonly<Record<UpstreamId, string>> = {
  chat: chatEndpoint,
  messages: messagesEndpoint,
  responses: responsesEndpoint,
  chatgpt: responsesEndpoint,
}

const efforts = ['low', 'medium', 'high']
const effortful: Model['supports'] = { reasoningEffort: efforts }
const budget: Model['supports'] = { minThinkingBudget: 1024, maxThinkingBudget: 32_000 }
const adaptive: Model['supports'] = { adaptiveThinking: true, reasoningEffort: efforts }

function gpt(id: string, supports: Model['supports'] = {}, maxOutputTokens = 64_000): Model {
  return model(id, { vendor: 'Azure OpenAI', maxOutputTokens, supports: { ...supports, parallelToolCalls: true } })
}

function claude(id: string, supports: Model['supports'], maxOutputTokens = 64_000): Model {
  return model(id, { vendor: 'Anthropic', maxOutputTokens, supports })
}

const gpt41 = gpt('gpt-4.1', {}, 16_000)
const gpt5mini = gpt('gpt-5-mini', effortful)
const sonnet45 = claude('claude-sonnet-4.5', budget, 32_000)
const opus48 = claude('claude-opus-4.8', { ...adaptive, reasoningEffort: [...efforts, 'max'] })
const opus51 = claude('claude-opus-5.1', { ...adaptive, reasoningEffort: [...efforts, 'xhigh', 'max'] }, 128_000)
const kimiK3 = model('kimi-k3', { vendor: 'Moonshot AI', maxOutputTokens: 32_000 })

/**
 * The families and generations that rules tell apart, with what their catalogue entries state. The first model of a list is the
 * one that the goldens show whole. A fixed list, so that a new model of the demo changes no golden.
 */
export const modelsOf: Readonly<Record<UpstreamId, readonly Model[]>> = {
  chat: [
    gpt41,
    gpt5mini,
    sonnet45,
    opus48,
    opus51,
    model('gemini-2.5-pro', { vendor: 'Google', maxOutputTokens: 64_000, supports: budget }),
    model('gemini-3-pro-preview', {
      vendor: 'Google',
      maxOutputTokens: 64_000,
      supports: { reasoningEffort: ['low', 'high'] },
    }),
    model('grok-code-fast-1', { vendor: 'xAI', maxOutputTokens: 64_000 }),
    model('kimi-k2.6', { vendor: 'Moonshot AI', maxOutputTokens: 32_000 }),
    kimiK3,
    model('mai-2', { vendor: 'Microsoft', maxOutputTokens: 32_000 }),
  ],
  messages: [
    sonnet45,
    claude('claude-opus-4.6', { ...adaptive, ...budget, structuredOutputs: true }, 32_000),
    claude('claude-opus-4.7', { adaptiveThinking: true, reasoningEffort: ['medium'] }, 32_000),
    opus48,
    opus51,
    kimiK3,
  ],
  responses: [
    gpt5mini,
    gpt('gpt-5.1-codex', { ...effortful, reasoningEffort: [...efforts, 'xhigh'] }, 128_000),
    gpt('gpt-5.6', { toolSearch: true, reasoningEffort: ['none', ...efforts, 'xhigh'] }, 128_000),
    gpt41,
    model('grok-4.5', { vendor: 'xAI', maxOutputTokens: 64_000 }),
  ],
  chatgpt: [
    codexModel('gpt-5.1-codex', { supports: { toolCalls: true, vision: true, reasoningEffort: efforts } }),
    codexModel('gpt-5.6-luna', {
      supports: {
        toolCalls: true,
        parallelToolCalls: true,
        vision: true,
        verbosity: true,
        reasoningSummary: true,
        reasoningEffort: [...efforts, 'xhigh'],
      },
    }),
  ],
}
