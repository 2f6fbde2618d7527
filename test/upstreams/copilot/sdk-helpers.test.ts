import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { eventsOf, messages, responses, textOf } from './test-calls.ts'
import type { Body, Event } from './test-calls.ts'

// The vendors' own stream helpers: what they do not take is peculiar about Copilot, and nothing else is.

const schema = { type: 'object', properties: { path: { type: 'string' } } }

function replying(text: string): typeof globalThis.fetch {
  return () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
}

/** One id for each place of the output, as a proxy makes it. */
function withStableIds(event: Event): Body {
  const { item_id: id, item, response, output_index: place = 0 } = event
  const output = response?.output.map((each, at) => ({ ...each, id: `item_${at}` }))
  return {
    ...event,
    ...(id !== undefined && { item_id: `item_${place}` }),
    ...(item !== undefined && { item: { ...item, id: `item_${place}` } }),
    ...(response !== undefined && { response: { ...response, output } }),
  }
}

async function openaiReads(text: string): Promise<readonly string[]> {
  const openai = new OpenAI({ apiKey: 'x', baseURL: 'http://127.0.0.1:1', fetch: replying(text), maxRetries: 0 })
  const { output } = await openai.responses.stream({ model: 'x', input: 'x' }).finalResponse()
  return output.map(({ type }) => type)
}

test.for<[string, readonly string[]]>([
  ['Hi', ['reasoning', 'message']],
  ['[demo:tools] [demo:reasoning]', ['reasoning', 'function_call', 'function_call']],
  ['[demo:search weather]', ['reasoning', 'web_search_call', 'message']],
  ['[demo:refusal]', ['reasoning', 'message']],
  ['[demo:filter]', ['reasoning', 'message']],
])('OpenAI’s helper reads %s, once ids are stable', async ([input, types]) => {
  const tools = [{ type: 'function', name: 'a', parameters: schema }, { type: 'web_search' }]
  const outcome = responses({ input, tools, reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] })
  const normalised = eventsOf(outcome).map(
    (event) => `event: ${event.type}\ndata: ${JSON.stringify(withStableIds(event))}\n\n`,
  )
  expect(await openaiReads(normalised.join(''))).toEqual(types)
  await expect(openaiReads(textOf(outcome))).rejects.toThrow(/^expected (?:output item |item_)id/)
})

test.for<[string, string, readonly string[]]>([
  ['Hi', 'end_turn', ['text']],
  ['[demo:tools] [demo:reasoning]', 'tool_use', ['thinking', 'text', 'tool_use', 'tool_use']],
  ['[demo:redacted]', 'end_turn', ['redacted_thinking', 'text']],
  ['[demo:length] [demo:tool]', 'max_tokens', ['text', 'tool_use']],
  ['[demo:filter]', 'refusal', ['text']],
])('Anthropic’s helper reads %s as it is', async ([content, reason, types]) => {
  const outcome = messages({
    model: 'claude-opus-4.6',
    messages: [{ role: 'user', content }],
    tools: [{ name: 'a', input_schema: schema }],
    thinking: { type: 'adaptive' },
  })
  const fetch = replying(textOf(outcome))
  const anthropic = new Anthropic({ apiKey: 'x', baseURL: 'http://127.0.0.1:1', fetch, maxRetries: 0 })
  const message = await anthropic.messages.stream({ model: 'x', max_tokens: 1, messages: [] }).finalMessage()
  expect(message.stop_reason).toBe(reason)
  expect(message.content.map(({ type }) => type)).toEqual(types)
})
