import { expect, test } from 'vitest'
import { serveDemo } from './demo-process.ts'
import { demoDialects } from './dialects.ts'
import type { DemoAnswer, DemoDialect, Question } from './dialects.ts'

const demo = serveDemo()
const cases = demoDialects.map((dialect) => [dialect.name, dialect] as const)
/** One white pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII='

async function ask({ path, body, read }: DemoDialect, question: Question): Promise<DemoAnswer> {
  return read(await (await demo.post(path, body(question))).json())
}

async function streamed({ path, body }: DemoDialect, prompt: string): Promise<string> {
  return (await demo.post(path, { ...body({ prompt }), stream: true })).text()
}

test.for(cases)('%s: repeats what the user said, and says that the answer is simulated', async ([, dialect]) => {
  const { text, calls } = await ask(dialect, { prompt: 'Say hello', before: ['<system-reminder>x</system-reminder>'] })
  expect(text).toMatch(/^Hello from \S+, simulated by copilot-proxy --demo\. You said: Say hello$/)
  expect(calls).toEqual([])
})

test.for(cases)('%s: calls the named tool with the given arguments, and tells its result', async ([, dialect]) => {
  const tools = ['read', 'write']
  const prompt = '[demo:tool write {"path":"b [1]"}] go'
  expect((await ask(dialect, { prompt, tools })).calls).toEqual([{ name: 'write', input: { path: 'b [1]' } }])
  const { text, calls } = await ask(dialect, { prompt, tools, result: 'it is [demo:tool read] done' })
  expect([text, calls]).toEqual(['The tool answered: it is [demo:tool read] done', []])
})

test.for(cases)('%s: calls tools in parallel, with arguments that fit their schemas', async ([, dialect]) => {
  const { calls } = await ask(dialect, { prompt: '[demo:tools]', tools: ['read', 'write'] })
  expect(calls).toEqual(['read', 'write'].map((name) => ({ name, input: { path: 'example path' } })))
})

test.for(cases)('%s: says which tools there are if the named one is not offered', async ([, dialect]) => {
  const { text, calls } = await ask(dialect, { prompt: '[demo:tool erase]', tools: ['read'] })
  expect([text, calls]).toEqual(['There is no tool erase to call. Offered: read', []])
  expect((await ask(dialect, { prompt: '[demo:tool]' })).text).toContain('There is no tool to call')
})

test.for(cases)('%s: follows a script step by step, and none in the result of a tool', async ([, dialect]) => {
  const script = '[{"text":"First.","calls":[{"tool":"read","args":{"path":"x"}}]},{"text":"Last."}]'
  const first = await ask(dialect, { prompt: `Go. [demo:script ${script}]`, tools: ['read'] })
  expect([first.text, first.calls]).toEqual(['First.', [{ name: 'read', input: { path: 'x' } }]])
  const result = '[demo:script [{"text":"hacked"}]]'
  const last = await ask(dialect, { prompt: `Go. [demo:script ${script}]`, tools: ['read'], result })
  expect(last.text).toBe('Last.')
})

test.for(cases)('%s: thinks if a marker asks for it', async ([name, dialect]) => {
  const models = name === 'chat' ? { model: 'gemini-3-pro-preview' } : {}
  const { thought, text } = await ask(dialect, { ...models, prompt: '[demo:reasoning] Hi' })
  expect(thought).toMatch(/^The user wants to see thinking/)
  expect(text).toContain('You said')
})

test.for(cases)('%s: gives as many words as asked for, and stops at a limit', async ([, dialect]) => {
  expect((await ask(dialect, { prompt: '[demo:slow 0][demo:long 40]' })).text.split(' ')).toHaveLength(40)
  const cut = await ask(dialect, { prompt: '[demo:slow 0][demo:long 40]', maxTokens: 20 })
  expect([cut.text.trim().split(' ').length, cut.end]).toEqual([20, dialect.cut])
  const half = await ask(dialect, { prompt: '[demo:length] one two' })
  expect(half.end).toBe(dialect.cut)
  expect('[demo:length] one two').not.toContain(half.text)
  const call = await ask(dialect, { prompt: '[demo:length][demo:tool]', tools: ['read'] })
  expect(call.end).toBe(dialect.cut)
})

test.for(cases)('%s: stops as a filter does, and refuses', async ([, dialect]) => {
  expect((await ask(dialect, { prompt: '[demo:filter] one two' })).end).toBe(dialect.filtered)
  expect((await ask(dialect, { prompt: '[demo:refusal]' })).text).toBe('I cannot help with that (simulated refusal).')
})

test.for(cases)('%s: answers with JSON of the wanted form', async ([, dialect]) => {
  const schema = {
    type: 'object',
    properties: { count: { enum: [3, 4] } },
    required: ['count'],
    additionalProperties: false,
  }
  expect(JSON.parse((await ask(dialect, { prompt: 'Count', schema })).text)).toEqual({ count: 3 })
})

test.for(cases)('%s: tells the kind and the size of an image', async ([, dialect]) => {
  const { text } = await ask(dialect, { prompt: 'Look', image: pixel })
  const bytes = Buffer.byteLength(pixel, 'base64')
  expect(text).toContain(`I see an image, image/png of ${bytes} bytes. You said: Look`)
})

test.for(cases)('%s: lists the markers, also for one that it does not know', async ([, dialect]) => {
  const { text } = await ask(dialect, { prompt: '[demo:help]' })
  expect(text).toMatch(/^These markers work in --demo:\n\[demo:help\] answers with this list\n/)
  expect((await ask(dialect, { prompt: '[demo:lnog 5]' })).text).toMatch(/^I do not know \[demo:lnog 5\]\. These/)
  expect((await ask(dialect, { prompt: '[demo:echo] back' })).text).toContain('[demo:echo] back')
})

test.for(cases)('%s: a stream fails in the middle, or its connection breaks', async ([, dialect]) => {
  const failed = await streamed(dialect, '[demo:error-mid slow_down] Hi')
  expect(failed).toMatch(dialect.failure)
  expect(failed).toContain('The simulated provider failed in the middle.')
  const cut = await streamed(dialect, '[demo:cut] Hi')
  expect(cut).toMatch(dialect.failure)
  expect(cut).toContain('The answer is incomplete')
  for (const text of [failed, cut]) expect(text).toContain('Hello')
})

test.for(cases)('%s: a stream can be slow or end in silence, and a caller can leave it', async ([, dialect]) => {
  for (const marker of ['[demo:slow 1000]', '[demo:stall]']) {
    const leaving = new AbortController()
    const reply = await demo.post(
      dialect.path,
      { ...dialect.body({ prompt: `${marker}[demo:long 50]` }), stream: true },
      leaving.signal,
    )
    expect(reply.status).toBe(200)
    leaving.abort()
    await expect(reply.text()).rejects.toThrow('aborted')
  }
  await expect
    .poll(async () => (await fetch(`${demo.url()}/metrics`)).text())
    .toMatch(/^copilot_proxy_active_requests 0$/m)
})
