import { describe, expect, test } from 'vitest'
import { runAgent, type AgentDeps } from '../../src/agent/run-agent.ts'
import { Fault } from '../../src/errors.ts'
import type { Tool, ToolResult } from '../../src/tools/tool.ts'
import type { TurnItem } from '../../src/translate/turn.ts'
import { jsonStep, openAgent, scriptOf } from './support.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** A PNG of 60 KB. */
const png = Buffer.concat([Buffer.from(pixel, 'base64'), Buffer.alloc(60 * 1024 - 70)]).toString('base64')
const picture = { name: 'shot.png', mediaType: 'image/png', base64: png }

function toolThatAnswers(result: ToolResult): Tool {
  return {
    name: 'screenshot',
    description: 'Takes a picture',
    parameters: { type: 'object' },
    effect: 'read',
    provider: 'camera',
    asks: 'never',
    run: async () => result,
  }
}

const shot = toolThatAnswers({ text: 'Taken.', parts: [{ type: 'image', mediaType: 'image/png', base64: png }] })

function partsIn(items: readonly TurnItem[]): readonly string[] {
  return items.flatMap((item) => {
    const parts = item.type === 'message' ? item.parts : item.type === 'tool_result' ? item.content : []
    return typeof parts === 'string' ? [parts] : parts.map((part) => (part.type === 'text' ? part.text : part.type))
  })
}

/** An upstream that refuses each request with an image. */
function refusingImages(runTurn: AgentDeps['runTurn']): AgentDeps['runTurn'] {
  return async (call) => {
    if (!partsIn(call.turn.items).includes('image')) return runTurn(call)
    throw new Fault({ kind: 'upstream_status', status: 400, message: 'Invalid request.', code: 'invalid_request_body' })
  }
}

const refuseAll: AgentDeps['runTurn'] = async () => {
  throw new Fault({ kind: 'upstream_status', status: 400, message: 'No.' })
}

const factsOf = (seesImages: boolean) => () => ({ contextTokens: 128_000, hasToolCalls: true, seesImages })

describe('an image that upstream refuses', () => {
  const attached = { text: 'What is this?', attachments: [picture] }

  test.each(['chat', 'agent'] as const)('is left out of a %s and of the later messages', async (mode) => {
    const { deps, task, events } = await openAgent({ mode, ...attached })
    const outcome = await runAgent({ ...deps, runTurn: refusingImages(deps.runTurn) }, task)
    expect(outcome).toMatchObject({ outcome: 'completed', requests: 2 })
    expect(events).toContainEqual(
      expect.objectContaining({
        kind: 'notice',
        text: expect.stringContaining('Invalid request. Trying once more without'),
      }),
    )
    expect(partsIn(outcome.items)).toContain('[image/png, 60 KB: left out, because the provider refused it]')
    expect(partsIn(outcome.items)).not.toContain('image')
  })

  test('of an earlier message does not end the next one', async () => {
    const history: readonly TurnItem[] = [
      {
        type: 'message',
        role: 'user',
        parts: [{ type: 'image', source: { type: 'base64', mediaType: 'image/png', data: png } }],
        path: '',
      },
      { type: 'message', role: 'assistant', parts: [{ type: 'text', text: 'A dot' }], path: '' },
    ]
    const { deps, task } = await openAgent({ text: 'Go on', history })
    expect(await runAgent({ ...deps, runTurn: refusingImages(deps.runTurn) }, task)).toMatchObject({
      outcome: 'completed',
    })
  })

  test('stays in the history if the request fails without it too', async () => {
    const { deps, task } = await openAgent(attached)
    const outcome = await runAgent({ ...deps, runTurn: refuseAll }, task)
    expect(outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('No.'), requests: 2 })
    expect(partsIn(outcome.items)).toContain('image')
  })
})

test('a model that sees gets an attached image, another one a sentence, and the person a notice', async () => {
  for (const seesImages of [true, false]) {
    const { deps, task, events } = await openAgent({ mode: 'chat', text: 'Look', attachments: [picture] })
    const { answer, items } = await runAgent({ ...deps, modelFacts: factsOf(seesImages) }, task)
    expect(answer.includes('I see an image, image/png')).toBe(seesImages)
    expect(events.some((event) => event.type === 'fragment' && event.text.includes('takes no images'))).toBe(
      !seesImages,
    )
    // Another model of the session may see it.
    expect(partsIn(items)).toContain('image')
  }
})

const models = [
  ['chat', 'gpt-4.1'],
  ['messages', 'claude-opus-4.7'],
  ['responses', 'gpt-5.3-codex'],
] as const

describe.each(models)('an image that a tool returns, on %s', (_dialect, model) => {
  const text = scriptOf({ calls: [{ tool: 'screenshot' }] }, { text: 'Seen.' })

  test('reaches the model as an image, and its text once', async () => {
    const { deps, task, demo, events } = await openAgent({ text, settings: { model }, tools: [shot] })
    expect(await runAgent(deps, task)).toMatchObject({ outcome: 'completed' })
    const body = demo.log.findLast(({ body: sent }) => sent.includes('Taken.'))?.body ?? ''
    expect(body.split('Taken.')).toHaveLength(2)
    expect(body.split(png)).toHaveLength(2)
    expect(body).toMatch(/"type":"(?:image|image_url|input_image)"/)
    const ended = events.find((event) => event.type === 'tool' && event.state === 'ended')
    expect(ended).toMatchObject({ result: 'Taken.\n[image/png, 60 KB]' })
  })

  test('is one sentence for a model that does not see', async () => {
    const { deps, task, demo } = await openAgent({ text, settings: { model }, tools: [shot] })
    await runAgent({ ...deps, modelFacts: factsOf(false) }, task)
    const body = demo.log.findLast(({ body: sent }) => sent.includes('Taken.'))?.body ?? ''
    expect(body).toContain('[image/png, 60 KB: left out, because this model takes no images]')
    expect(body).not.toContain(png)
  })

  test('reaches a model without native tool calls as an image of the next message', async () => {
    const steps = [
      jsonStep({ actions: [{ tool: 'screenshot' }], done: false }),
      jsonStep({ finalSummary: 'Seen.', done: true }),
    ]
    const settings = { model, protocol: 'json' } as const
    const { deps, task, demo } = await openAgent({ text: scriptOf(...steps), settings, tools: [shot] })
    expect(await runAgent(deps, task)).toMatchObject({ outcome: 'completed' })
    expect(demo.log.at(-1)?.body.split(png)).toHaveLength(2)
  })
})

const long = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * 7919) % 256)).toString('base64')
const values = { found: 3, names: ['a'] }

test.each<[string, ToolResult, readonly string[]]>([
  [
    'a sound',
    { text: '', parts: [{ type: 'audio', mediaType: 'audio/wav', base64: long }] },
    ['[audio/wav, 3 KB: left out]'],
  ],
  [
    'a file in a resource',
    { text: '', parts: [{ type: 'resource', resource: { uri: 'x://1', mimeType: 'application/pdf', blob: long } }] },
    ['[application/pdf, 3 KB: left out]'],
  ],
  [
    'a text in a resource',
    { text: 'a', parts: [{ type: 'resource', resource: { uri: 'x://1', text: 'say "hi"' } }] },
    ['a\nx://1:\nsay "hi"'],
  ],
  ['an address in a text', { text: `![x](data:image/png;base64,${long})` }, ['![x]([image/png, 3 KB: left out])']],
  ['bytes in a value', { text: 'b', structuredContent: { bytes: long } }, ['b\n', '[bytes in base64, 3 KB: left out]']],
  ['an object of a provider', { bytes: long }, ['[bytes in base64, 3 KB: left out]']],
])('%s is a sentence, and a text stays a text', async (_name, result, expected) => {
  const text = scriptOf({ calls: [{ tool: 'screenshot' }] }, { text: 'Read.' })
  const { deps, task } = await openAgent({ text, tools: [toolThatAnswers(result)] })
  const { items } = await runAgent(deps, task)
  const [content = ''] = partsIn(items.filter(({ type }) => type === 'tool_result'))
  for (const each of expected) expect(content).toContain(each)
  expect(content).not.toContain(long.slice(0, 100))
})

test.each<[string, ToolResult, string]>([
  [
    'that a text repeats goes once',
    { text: JSON.stringify(values), structuredContent: values },
    '{"found":3,"names":["a"]}',
  ],
  ['that no text repeats follows it', { text: '3 found', structuredContent: values }, '3 found\n{\n "found": 3,'],
])('a structured result %s', async (_name, result, expected) => {
  const text = scriptOf({ calls: [{ tool: 'screenshot' }] }, { text: 'Read.' })
  const { deps, task } = await openAgent({ text, tools: [toolThatAnswers(result)] })
  const { items } = await runAgent(deps, task)
  const [content = ''] = partsIn(items.filter(({ type }) => type === 'tool_result'))
  expect(content).toContain(expected)
  expect(content.split('found')).toHaveLength(expected.split('found').length)
})
