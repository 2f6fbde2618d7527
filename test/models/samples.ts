import { readFileSync } from 'node:fs'
import { parseCodexModels, toCodexModel } from '../../src/models/codex-model.ts'
import { parseCopilotModels, toCopilotModel } from '../../src/models/copilot-model.ts'
import type { Model } from '../../src/models/model.ts'

/** A list as upstream sends it: fields missing or odd, an id twice, one model switched off, five unreadable entries. */
export const copilotReply: unknown = JSON.parse(
  readFileSync(new URL('../fixtures/models/copilot.json', import.meta.url), 'utf8'),
)

export function liveModels(): readonly Model[] {
  return parseCopilotModels(copilotReply)?.models ?? []
}

/** A catalogue as the ChatGPT backend sends it: not in order, one model hidden, one id twice, five unreadable entries. */
export const codexReply: unknown = JSON.parse(
  readFileSync(new URL('../fixtures/models/codex.json', import.meta.url), 'utf8'),
)

export function codexModels(): readonly Model[] {
  return parseCodexModels(codexReply)?.models ?? []
}

/** A chat model of Codex's, as its catalogue has them, unless `facts` say otherwise. */
export function codexModel(id: string, facts: Partial<Model> = {}): Model {
  return { ...toCodexModel({ slug: id }), ...facts }
}

/** A chat model of the live list, unless `facts` say otherwise. */
export function model(id: string, facts: Partial<Model> = {}): Model {
  return { ...toCopilotModel({ id }), ...facts }
}

/** Of a model with two context tiers. */
export const tieredFacts: Partial<Model> = {
  contextWindow: 272_000,
  maxPromptTokens: 272_000,
  longContext: { contextWindow: 922_000, maxPromptTokens: 922_000 },
  prices: {
    default: { input: 250, output: 1500, cacheRead: 25, contextMax: 272_000 },
    longContext: { input: 500, output: 2250, cacheRead: 50, contextMax: 922_000 },
  },
  premiumMultiplier: 1,
  notices: [{ level: 'warning', message: 'To be retired.' }],
}
