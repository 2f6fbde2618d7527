import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { jsonReply, textReply } from '../upstreams/http/outcome.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const sdk = ({ daemon }: Proxy) => new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: 'any', maxRetries: 0 })
const sent = ({ demo }: Proxy) => demo.log.filter(({ route }) => route.startsWith('/v1/images'))
const model = 'gpt-image-2.5-flare'
const made = { created: 1, data: [{ b64_json: 'AAAA' }], usage: { input_tokens: 7, output_tokens: 30 } }

/** Copilot also lists the model for edits. */
function listEdits({ demo }: Pick<Proxy, 'demo'>): void {
  const entry = { id: model, supported_endpoints: ['/v1/images/generations', '/v1/images/edits'] }
  demo.script('/models', { outcome: jsonReply(200, { object: 'list', data: [{ id: 'gpt-5-mini' }, entry] }), times: 9 })
}

test('images.generate of the SDK gets the image, and upstream the form of GitHub’s CLI; it is counted and costed', async () => {
  const proxy = await openProxy()
  const { data, usage } = await sdk(proxy).images.generate({ model, prompt: 'A heron', n: 2, size: '1024x1024' })
  expect(data).toEqual([{ b64_json: expect.any(String) }, { b64_json: expect.any(String) }])
  expect(usage).toMatchObject({ output_tokens: 2112 })
  expect(sent(proxy)).toMatchObject([
    { path: '/v1/images/generations', headers: { 'x-initiator': 'agent', 'content-type': 'application/json' } },
  ])
  expect(JSON.parse(sent(proxy)[0]?.body ?? '')).toEqual({
    model,
    prompt: 'A heron',
    n: 2,
    size: '1024x1024',
    stream: false,
  })
  const { totals } = JSON.parse((await proxy.send('/usage?partial=true')).text)
  expect(totals.today).toMatchObject([{ model, requests: 1, credits: 8, estimated: false }])
  const { requests } = JSON.parse((await proxy.send('/requests')).text)
  expect(requests).toMatchObject([{ api: 'images', route: 'copilot/images', status: 200, credits: 8 }])
  const ids = JSON.parse((await proxy.send('/v1/models')).text).data.map(({ id }: { id: string }) => id)
  expect(ids).not.toContain(model)
})

test('without a model, one that makes images is taken; without /v1, too', async () => {
  const proxy = await openProxy()
  const reply = await proxy.send('/images/generations', { body: '{"prompt":"A heron"}' })
  expect(reply.status).toBe(200)
  expect(reply.headers).toMatchObject({ 'x-copilot-proxy-route': 'copilot/images', 'x-copilot-proxy-credits': '4' })
})

test.each([
  [
    '{"model":"gpt-5-mini","prompt":"A heron"}',
    400,
    'does not make images. Models for this request: gpt-image-2.5-flare',
  ],
  ['{"model":"no-such","prompt":"A heron"}', 404, 'no-such'],
  [`{"model":"${model}"}`, 400, 'prompt'],
  [`{"model":"${model}","prompt":7}`, 400, 'prompt'],
  [`{"model":"${model}","prompt":"A heron","stream":true}`, 400, 'not streamed'],
  [`{"model":"${model}","prompt":"A heron","partial_images":2}`, 400, 'not streamed'],
  ['{"model":', 400, 'JSON'],
  ['[]', 400, 'JSON object'],
])('%s is refused with %i before anything goes upstream', async (body, status, words) => {
  const proxy = await openProxy()
  const reply = await proxy.send('/v1/images/generations', { body })
  expect([reply.status, JSON.parse(reply.text).error.message]).toEqual([status, expect.stringContaining(words)])
  expect(sent(proxy)).toEqual([])
})

test('upstream’s refusal reaches the caller in OpenAI’s envelope, and an unusable answer is a 502', async () => {
  const proxy = await openProxy()
  const body = JSON.stringify({ model, prompt: 'A heron' })
  proxy.demo.script('/v1/images/generations', { outcome: textReply(400, 'content policy violation') })
  const refused = await proxy.send('/v1/images/generations', { body })
  expect([refused.status, JSON.parse(refused.text).error.message]).toEqual([
    400,
    expect.stringContaining('content policy violation'),
  ])
  proxy.demo.script('/v1/images/generations', { outcome: jsonReply(200, { images: [] }) })
  expect((await proxy.send('/v1/images/generations', { body })).status).toBe(502)
})

test('a caller that leaves ends the request upstream', async () => {
  const proxy = await openProxy()
  proxy.demo.script('/v1/images/generations', { outcome: { kind: 'silent' } })
  const leaving = new AbortController()
  const asked = proxy.send('/v1/images/generations', {
    body: JSON.stringify({ model, prompt: 'A heron' }),
    signal: leaving.signal,
  })
  await expect.poll(() => sent(proxy)).toHaveLength(1)
  leaving.abort()
  await expect(asked).rejects.toThrow()
  await expect.poll(() => proxy.demo.aborted()).toBe(1)
})

test('images.edit of the SDK is passed on with all parts, to a model that lists the route', async () => {
  const proxy = await openProxy({ prepare: (demo) => listEdits({ demo }) })
  proxy.demo.script('/v1/images/edits', { outcome: jsonReply(200, made) })
  const image = await toFile(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]), 'heron.png', { type: 'image/png' })
  const { data } = await sdk(proxy).images.edit({ model: `copilot/${model}`, image, prompt: 'Add a fish' })
  expect(data).toEqual(made.data)
  const [edit] = sent(proxy)
  expect(edit?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect(edit?.body).toMatch(/name="model"\r\n\r\ngpt-image-2\.5-flare\r\n/)
  expect(edit?.body).toMatch(/name="prompt"\r\n\r\nAdd a fish\r\n/)
  expect(edit?.body).toMatch(/name="image"; filename="heron\.png"\r\nContent-Type: image\/png\r\n\r\n.PNG/)
})

const part = (name: string, value: string) =>
  `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

test('edits are refused with 400 where no model lists the route, and forms that are none', async () => {
  const proxy = await openProxy()
  const form = (parts: string, type = 'multipart/form-data; boundary=x') =>
    proxy.send('/v1/images/edits', { body: parts, headers: { 'content-type': type } })
  const refused = await form(`${part('model', model)}${part('prompt', 'Add a fish')}--x--\r\n`)
  expect([refused.status, JSON.parse(refused.text).error]).toMatchObject([
    400,
    { code: 'unsupported_api_for_model', message: expect.stringContaining('does not edit images') },
  ])
  const nameless = await form(`${part('prompt', 'Add a fish')}--x--\r\n`)
  expect([nameless.status, nameless.text]).toEqual([
    400,
    expect.stringContaining('no model of the account edits images'),
  ])
  expect((await form(part('model', model))).status).toBe(400)
  expect((await form('{}', 'application/json')).status).toBe(415)
  expect((await form(part('prompt', 'p').repeat(100_000))).status).toBe(400)
  expect(sent(proxy)).toEqual([])
  // No other route takes a form, which a page of another origin can send.
  const elsewhere = await proxy.send('/v1/images/generations', {
    body: part('prompt', 'p'),
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  expect(elsewhere.status).toBe(415)
})

test.each([
  ['a second boundary', 'multipart/form-data; boundary=x; boundary=y', part('a', '').repeat(1000), 415],
  [
    'a boundary in another parameter',
    'multipart/form-data; boundary=x; a="; boundary=y"',
    part('a', '').repeat(1000),
    415,
  ],
  ['an escape', String.raw`multipart/form-data; boundary="\x"`, part('a', '').repeat(1000), 415],
  [
    'many headers',
    'multipart/form-data; boundary=x',
    `--x\r\n${'a: b\r\n'.repeat(10_000)}${part('a', '').slice(5)}`,
    400,
  ],
  ['a long name', 'multipart/form-data; boundary=x', part('%0a'.repeat(10_000), ''), 400],
])('a form with %s does not reach the parser, which it would keep busy', async (_what, type, parts, status) => {
  const proxy = await openProxy({ prepare: (demo) => listEdits({ demo }) })
  proxy.demo.script('/v1/images/edits', { outcome: jsonReply(200, made) })
  const body = `${parts}${part('model', model)}--x--\r\n`
  const reply = await proxy.send('/v1/images/edits', { body, headers: { 'content-type': type } })
  expect([reply.status, JSON.parse(reply.text).error.message]).toEqual([status, expect.stringContaining('form')])
  expect(sent(proxy)).toEqual([])
})

test.each(['x', '"x"', '----=_Part:1/2', '"a b?"'])('a form with the boundary %s passes', async (boundary) => {
  const proxy = await openProxy({ prepare: (demo) => listEdits({ demo }) })
  proxy.demo.script('/v1/images/edits', { outcome: jsonReply(200, made) })
  const mark = `--${boundary.replaceAll('"', '')}`
  const body = `${part('model', model)}${part('prompt', '-'.repeat(50_000))}--x--\r\n`.replaceAll('--x', mark)
  const type = `multipart/form-data; charset=utf-8; boundary=${boundary}`
  const reply = await proxy.send('/v1/images/edits', { body, headers: { 'content-type': type } })
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('AAAA')])
})
