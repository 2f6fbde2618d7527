import { readFileSync } from 'node:fs'
import { toCopilotModel, type Model } from '../../src/models/model.ts'
import { parseModelList } from '../../src/models/wire.ts'

/** A list as upstream sends it: fields missing or odd, an id twice, one model switched off, five unreadable entries. */
export const copilotReply: unknown = JSON.parse(
  readFileSync(new URL('../fixtures/models/copilot.json', import.meta.url), 'utf8'),
)

export function liveModels(): readonly Model[] {
  return (parseModelList(copilotReply)?.entries ?? []).map(toCopilotModel)
}

/** A chat model of the live list, unless `facts` say otherwise. */
export function model(id: string, facts: Partial<Model> = {}): Model {
  return { ...toCopilotModel({ id }), ...facts }
}
