import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { expect, test } from 'vitest'
import { openFor, promptsFor, says, textOf } from './client.ts'
import { codexKinds, kinds, titleOf } from './kinds.ts'
import type { ModelKind } from './kinds.ts'

function toolsThat(called: string[]) {
  return [
    betaTool({
      name: 'read_file',
      description: 'Reads a file',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      run: ({ path }) => {
        called.push(`read_file ${path}`)
        return 'the file'
      },
    }),
    betaTool({
      name: 'list_folder',
      description: 'Lists a folder',
      inputSchema: { type: 'object', properties: { folder: { type: 'string' } }, required: ['folder'] },
      run: ({ folder }) => {
        called.push(`list_folder ${folder}`)
        return [{ type: 'text', text: 'the folder' }]
      },
    }),
  ]
}

const allKinds = [...kinds, ...codexKinds].map((kind) => ({ kind, title: titleOf(kind) }))

const prompt = '[demo:tool read_file {"path":"a/b"}][demo:tool list_folder {"folder":"a"}] go'

/** A client that records its requests. */
async function openRecorded(kind: ModelKind) {
  const proxy = await openFor(kind)
  const bodies: string[] = []
  const anthropic = new Anthropic({
    baseURL: proxy.url,
    apiKey: 'unused',
    maxRetries: 0,
    fetch: (url, init) => {
      if (typeof init?.body === 'string') bodies.push(init.body)
      return fetch(url, init)
    },
  })
  return { anthropic, bodies, prompts: () => promptsFor(proxy, kind) }
}

// The tool runner asks for a conversation that the server stores, and sends all of it when it learns that there is
// none.
test.each(allKinds)('$title: the tool runner leads the conversation to its end', async ({ kind }) => {
  const { anthropic, prompts, bodies } = await openRecorded(kind)
  const called: string[] = []
  const runner = anthropic.beta.messages.toolRunner({
    model: kind.model,
    max_tokens: 4000,
    messages: [...says('Hello'), { role: 'assistant', content: 'Hi.' }, ...says(prompt)],
    tools: toolsThat(called),
  })
  expect(textOf(await runner.runUntilDone())).toBe('The tool answered: the file\nthe folder')
  expect(called).toEqual(['read_file a/b', 'list_folder a'])
  expect(bodies.map((body) => body.includes('"thread":{'))).toEqual([true, false, false])
  const sent = prompts()
  expect(sent).toHaveLength(2)
  for (const { body } of sent) {
    expect(body).toContain('Hello')
    expect(body).toContain('list_folder')
  }
})

test.each(allKinds)('$title: the tool runner leads a streamed conversation to its end', async ({ kind }) => {
  const { anthropic, prompts } = await openRecorded(kind)
  const called: string[] = []
  const runner = anthropic.beta.messages.toolRunner({
    model: kind.model,
    max_tokens: 4000,
    messages: says(prompt),
    tools: toolsThat(called),
    stream: true,
  })
  let text = ''
  for await (const stream of runner) {
    text = ''
    stream.on('text', (delta) => {
      text += delta
    })
    await stream.finalMessage()
  }
  expect(called).toEqual(['read_file a/b', 'list_folder a'])
  expect(text).toBe('The tool answered: the file\nthe folder')
  expect(prompts()).toHaveLength(2)
})

test('a request for a stored conversation is refused with the name of the field', async () => {
  const [kind] = kinds
  if (kind === undefined) throw new Error('no kind')
  const { anthropic, prompts } = await openRecorded(kind)
  const request = { model: kind.model, max_tokens: 100, messages: says('Hello') }
  await expect(
    anthropic.beta.messages.create({ ...request, thread: { type: 'continue', previous_message_id: 'msg_1' } }),
  ).rejects.toMatchObject({
    status: 400,
    errorCode: 'thread_unsupported_request',
    details: { unsupported: ['thread'] },
  })
  expect(prompts()).toHaveLength(0)
})
