import { some } from '../thorough.ts'
import { describe, expect, test } from 'vitest'
import { isObject } from '../../src/json/json.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

type Json = Readonly<Record<string, unknown>>

const png = (bytes = 60): string => Buffer.alloc(bytes).toString('base64')

/** Turns in order: a text is the model's, a list of base64 images the user's. */
type Turns = readonly (readonly string[] | string)[]

interface Spelling {
  readonly path: string
  readonly list: 'messages' | 'input'
  readonly image: (data: string) => Json
  readonly text: (by: 'user' | 'assistant', text: string) => Json
  readonly more?: Json
}

const plainText = (_by: unknown, text: string): Json => ({ type: 'text', text })

const callers: Readonly<Record<'chat' | 'messages' | 'responses', Spelling>> = {
  chat: {
    path: '/v1/chat/completions',
    list: 'messages',
    image: (data) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }),
    text: plainText,
  },
  messages: {
    path: '/v1/messages',
    list: 'messages',
    image: (data) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }),
    text: plainText,
    more: { max_tokens: 100 },
  },
  responses: {
    path: '/v1/responses',
    list: 'input',
    image: (data) => ({ type: 'input_image', image_url: `data:image/png;base64,${data}` }),
    text: (by, text) => (by === 'user' ? { type: 'input_text', text } : { type: 'output_text', text, annotations: [] }),
  },
}

function bodyOf({ list, image, text, more }: Spelling, turns: Turns): Json {
  const items = turns.map((turn) =>
    typeof turn === 'string'
      ? { role: 'assistant', content: [text('assistant', turn)] }
      : { role: 'user', content: [text('user', 'look'), ...turn.map(image)] },
  )
  return { ...more, [list]: items }
}

/** One for each upstream dialect, with its limit. */
const models = [
  ['gpt-4.1', 20],
  ['gemini-2.5-pro', 10],
  ['gpt-5.4', 20],
  ['claude-opus-4.7', 20],
] as const

const pairs = (['chat', 'messages', 'responses'] as const).flatMap((caller) =>
  models.map(([model, most]) => [caller, model, most] as const),
)

async function send(proxy: Proxy, caller: keyof typeof callers, model: string, turns: Turns) {
  const spelling = callers[caller]
  const { status, headers, json } = await proxy.send(spelling.path, {
    body: JSON.stringify({ model, ...bodyOf(spelling, turns) }),
  })
  const body = json()
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {}
  return {
    status,
    message: typeof error['message'] === 'string' ? error['message'] : '',
    warnings: String(headers['x-copilot-proxy-warnings'] ?? ''),
  }
}

const partPath = (caller: keyof typeof callers, item: number, part: number): string =>
  `${callers[caller].list}[${item}].content[${part}]`

const inference = /completions|responses|messages/

/** Images and placeholders of what upstream was sent last, in order. */
function lastSent({ demo }: Proxy): string {
  const sent = demo.log.findLast(({ route }) => inference.test(route))
  const marks: string[] = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    else if (isObject(value)) {
      if (['image', 'image_url', 'input_image'].includes(String(value['type']))) marks.push('i')
      else if (String(value['text']).startsWith('[Image omitted')) marks.push('.')
      else Object.values(value).forEach(walk)
    }
  }
  walk(JSON.parse(sent?.body ?? '{}'))
  return marks.join('')
}

const times = (count: number, data = png()): readonly string[] => Array.from({ length: count }, () => data)

describe.each(some(pairs, 3))('%s to %s', (caller, model, most) => {
  test('replaces the oldest images of the history, with a warning', async () => {
    const proxy = await openProxy()
    const { status, warnings } = await send(proxy, caller, model, [times(most - 1), 'ok', times(3)])
    expect(status).toBe(200)
    const block = Math.floor(most / 4)
    expect(lastSent(proxy)).toBe('.'.repeat(block) + 'i'.repeat(most + 2 - block))
    expect(warnings).toContain(`dropped;${callers[caller].list}.0.content.1`)
    // The next turns leave the placeholders as they are, so that upstream finds the history in its prompt cache.
    await send(proxy, caller, model, [times(most - 1), 'ok', times(3), 'ok', times(block - 2)])
    expect(lastSent(proxy)).toBe('.'.repeat(block) + 'i'.repeat(most))
  })

  test('leaves images within the limit unchanged', async () => {
    const proxy = await openProxy()
    const { status, warnings } = await send(proxy, caller, model, [times(1), 'ok', times(most - 1)])
    expect({ status, warnings }).toEqual({ status: 200, warnings: '' })
    expect(lastSent(proxy)).toBe('i'.repeat(most))
  })

  test('refuses too many new images and names the first one above the limit', async () => {
    const proxy = await openProxy()
    const { status, message } = await send(proxy, caller, model, [times(1), 'ok', times(most + 1)])
    expect(status).toBe(400)
    expect(message).toContain(partPath(caller, 2, most + 1))
    expect(message).toContain(`${model} accepts at most ${most} images in one request, got ${most + 1} new ones`)
    expect(lastSent(proxy)).toBe('')
  })

  test('replaces an image of the history that is too large, and refuses a new one by path and size', async () => {
    const proxy = await openProxy()
    // The limit is in the live list, which the first request for a model of the seeds does not wait for.
    await expect.poll(async () => (await proxy.send('/v1/models')).text).toContain('claude-opus-4.7')
    const large = png(3_145_728 + 300_000)
    expect((await send(proxy, caller, model, [[png(), large], 'ok', times(1)])).status).toBe(200)
    expect(lastSent(proxy)).toBe('i.i')
    const { status, message } = await send(proxy, caller, model, [times(1), 'ok', [png(), large]])
    expect(status).toBe(400)
    expect(message).toContain(partPath(caller, 2, 2))
    expect(message).toMatch(new RegExp(`this image has 3[45]\\d{5} bytes; ${model} accepts at most 3145728`))
  })

  test('after a 413, retries once without the images of the history; if that fails, names the largest image', async () => {
    const proxy = await openProxy({ demo: { settings: { maxImageBytes: 1_000_000 } } })
    const half = png(600_000)
    expect(await send(proxy, caller, model, [[half], 'ok', [half]])).toMatchObject({
      status: 200,
      warnings: expect.stringContaining('refused_upstream;'),
    })
    expect(lastSent(proxy)).toBe('.i')
    const asked = proxy.demo.log.length
    const { status, message } = await send(proxy, caller, model, [['', half], 'ok', [half, png(700_000)]])
    expect(status).toBe(413)
    expect(message).toContain(
      `The largest images: ${partPath(caller, 2, 2)} (0.67 MB), ${partPath(caller, 2, 1)} (0.57 MB)`,
    )
    expect(proxy.demo.log.slice(asked)).toHaveLength(2)
  })
})
