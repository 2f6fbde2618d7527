import { createHash } from 'node:crypto'
import { isObject, objectsOf, textOf } from '../../../../src/json/json.ts'
import type { JsonObject } from '../../../../src/json/json.ts'
import { limitsOf, BLOCK_BINDING } from '../models.ts'
import { MESSAGES } from './row.ts'
import type { RefusalRow, SentRequest } from './row.ts'
import { blocksIn, entriesIn } from './sent-parts.ts'

/** Fingerprints of what stands before a thought: system and tools, then each message. */
type Prefix = readonly [head: string, ...messages: string[]]

/** The prefix of each thought that a host has sent, by its signature. */
export type BoundThoughts = Map<string, Prefix>

/** Remembers the thoughts in the frames of an answer to this request. */
export function bindThoughts(bound: BoundThoughts, body: JsonObject, frames: readonly string[]): void {
  for (const frame of frames) {
    const signature = /"signature":"([^"]+)"/.exec(frame)?.[1]
    if (signature !== undefined) bound.set(signature, prefixOf(body, objectsOf(body['messages'])))
  }
}

function prefixOf({ system, tools }: JsonObject, messages: readonly JsonObject[]): Prefix {
  return [print([system, tools]), ...messages.map(print)]
}

/** A fingerprint without cache marks and thoughts. A text counts as a block of it. */
function print(value: unknown): string {
  const text = JSON.stringify(value, (key, each: unknown) => {
    if (key === 'cache_control') return undefined
    if (key === 'content' && typeof each === 'string') return [{ type: 'text', text: each }]
    return Array.isArray(each) ? each.filter((block) => !String(Object(block)['type']).endsWith('thinking')) : each
  })
  return createHash('sha256').update(text).digest('hex')
}

/** Whether a prefix is the one of a thought, or lacks only messages at its beginning. */
function fits([head, ...messages]: Prefix, [boundHead, ...bound]: Prefix): boolean {
  return head === boundHead && messages.every((each, at) => each === bound[bound.length - messages.length + at])
}

function dropsMisfits({ body: { thinking } }: SentRequest): boolean {
  const binding = isObject(thinking) ? thinking['block_binding'] : undefined
  return isObject(binding) && binding['prefix_mismatch_behavior'] === 'drop_block'
}

export const boundThoughtRow: RefusalRow = {
  id: 'thinking of another prefix',
  routes: [MESSAGES],
  models: (model) => limitsOf(model).laterBetas.has(BLOCK_BINDING),
  // Of accounts since the end of August 2026. Which Copilot's backends count as is not known.
  scope: 'some hosts',
  source: 'router-for-me/CLIProxyAPI#5422, pydantic/pydantic-ai#7989; official-clients, "Binding"',
  judge: (sent) => {
    if (dropsMisfits(sent)) return undefined
    const messages = entriesIn(sent)
    for (const [index, message] of messages.entries()) {
      for (const [at, block] of blocksIn(message).entries()) {
        const bound = block['type'] === 'thinking' ? sent.bound.get(textOf(block['signature'])) : undefined
        if (bound !== undefined && !fits(prefixOf(sent.body, messages.slice(0, index)), bound)) {
          return `messages.${index}.content.${at}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`
        }
      }
    }
    return undefined
  },
}
