import { times } from '../thorough.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { chatBody, saying } from './client.ts'
import type { Reply } from './client.ts'
import { chatsOf, openProxy } from './harness.ts'

const chat = '/v1/chat/completions'
const megabyte = 1024 * 1024

function errorOf(reply: Reply): Record<string, unknown> {
  const body = reply.json()
  expect(body).toEqual({
    error: {
      message: expect.any(String),
      type: 'invalid_request_error',
      param: expect.toBeOneOf([null, expect.any(String)]),
      code: expect.toBeOneOf([null, expect.any(String)]),
    },
  })
  return (body as { error: Record<string, unknown> }).error
}

test.each([
  ['nothing', '', /the body is empty/],
  ['blanks', ' \n ', /the body is empty/],
  ['a truncated body', chatBody().slice(0, -9), /ends too early at line 1, column \d+/],
  ['a broken body', '{\n  "model": gpt\n}', /not valid JSON at line 2, column 12/],
  ['two bodies', `${chatBody()}${chatBody()}`, /not valid JSON at/],
  ['a comment', `// hello\n${chatBody()}`, /not valid JSON at line 1, column 1/],
  ['a form', 'model=gpt-5-mini', /not valid JSON at line 1, column 1/],
  ['a lone NaN', 'NaN', /not valid JSON/],
])('%s is a 400 that says where the JSON breaks, without quoting it', async (_what, body, message) => {
  const { send, demo } = await openProxy()
  for (const path of [chat, '/v1/embeddings']) {
    const reply = await send(path, { body })
    expect(reply.status).toBe(400)
    const error = errorOf(reply)
    if (path === chat) expect(error['message']).toMatch(message)
    expect(error['message']).not.toMatch(/gpt|hello/)
  }
  expect(demo.count('/chat/completions')).toBe(0)
})

test.each([
  ['null', '', null],
  ['[]', '', null],
  ['"text"', '', null],
  ['42', '', null],
  ['{}', 'model', null],
  ['{"model":"gpt-5-mini"}', 'messages', null],
  ['{"model":"","messages":[{"role":"user","content":"a"}]}', 'model', null],
  ['{"model":5,"messages":[{"role":"user","content":"a"}]}', 'model', null],
  ['{"model":"gpt-5-mini","messages":[]}', 'messages', 'empty_array'],
  ['{"model":"gpt-5-mini","messages":{}}', 'messages', null],
  ['{"model":"gpt-5-mini","messages":["a"]}', 'messages[0]', null],
  ['{"model":"gpt-5-mini","messages":[{"role":"robot","content":"a"}]}', 'messages[0].role', 'invalid_value'],
  ['{"model":"gpt-5-mini","messages":[{"role":"user","content":7}]}', 'messages[0].content', null],
  ['{"model":"gpt-5-mini","messages":[{"role":"user"}]}', 'messages[0].content', null],
  ['{"model":"gpt-5-mini","messages":[{"role":"user","content":"a"}],"stream":"yes"}', 'stream', null],
  ['{"model":"gpt-5-mini","messages":[{"role":"user","content":"a"}],"n":2}', 'n', 'unsupported_value'],
  ['{"model":"gpt-5-mini","messages":[{"role":"user","content":"a"}],"tools":[{}]}', 'tools[0].type', null],
  ['{"model":"gpt-5-mini","messages":[{"role":"user","content":"a"}],"temperature":"hot"}', 'temperature', null],
])('%s is a 400 that names the path "%s"', async (body, path, code) => {
  const { send, demo } = await openProxy()
  const reply = await send(chat, { body })
  expect(reply.status).toBe(400)
  const error = errorOf(reply)
  expect(error['param'] ?? '').toBe(path)
  if (code !== null) expect(error['code']).toBe(code)
  expect(demo.count('/chat/completions')).toBe(0)
})

test('an unknown model is a 404 with near misses, and nothing is sent', async () => {
  const { chat: ask, demo } = await openProxy()
  const reply = await ask({ model: 'gpt-5-minni' })
  expect(reply.status).toBe(404)
  expect(errorOf(reply)).toMatchObject({
    code: 'model_not_found',
    param: 'model',
    message: expect.stringMatching(/'gpt-5-minni' does not exist.*gpt-5-mini\b/),
  })
  expect(demo.count('/chat/completions')).toBe(0)
})

test('the refusal of a model that cannot chat says what the model can do', async () => {
  const { chat: ask } = await openProxy()
  expect(errorOf(await ask({ model: 'text-embedding-3-small' }))).toMatchObject({
    code: 'unsupported_api_for_model',
    message: expect.stringContaining('/v1/embeddings'),
  })
})

test('the refusal of a model that the account has switched off says how to enable it', async () => {
  const { chat: ask } = await openProxy()
  const reply = await ask({ model: 'claude-opus-4.5' })
  expect(reply.status).toBe(404)
  expect(errorOf(reply)['message']).toContain('https://github.com/settings/copilot/features')
})

test.each([
  ['a lone continuation byte', [0x80]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['half an emoji', [0xf0, 0x9f, 0x98]],
  ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
])('invalid UTF-8 (%s) is a 400 and never becomes other text', async (_what, bytes) => {
  const { send, demo } = await openProxy()
  const [before = '', after = ''] = chatBody(saying('|')).split('|')
  const reply = await send(chat, { body: Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]) })
  expect(reply.status).toBe(400)
  expect(errorOf(reply)['message']).toContain('not valid UTF-8')
  expect(demo.count('/chat/completions')).toBe(0)
})

test('an empty body is a 400, and its connection serves the next request', async () => {
  const { raw } = await openProxy()
  const head = `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const body = chatBody()
  const answers = await raw(
    `${head}Content-Length: 0\r\n\r\n${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200'])
})

test('a leading byte order mark is skipped, UTF-16 is refused', async () => {
  const { send } = await openProxy()
  expect((await send(chat, { body: `\uFEFF${chatBody()}` })).status).toBe(200)
  expect((await send(chat, { body: Buffer.from(`\uFEFF${chatBody()}`, 'utf16le') })).status).toBe(400)
})

test('text of every kind reaches upstream unchanged', async () => {
  const { chat: ask, demo } = await openProxy()
  const odd = 'é e\u0301 \u0000 \u001f \u2028\u2029 \uFEFF 👩‍👩‍👧‍👦 \u{10FFFF} \\u0041 "\\\n\r\t" </script> data: [DONE]\n\n'
  expect((await ask({ ...saying(odd), unknown_key: { kept: [1, null, odd] } })).status).toBe(200)
  const sent = JSON.parse(chatsOf(demo)[0]?.body ?? '')
  expect(sent.messages[0].content).toBe(odd)
  expect(sent.unknown_key.kept[2]).toBe(odd)
})

test('numbers that a double cannot hold reach upstream digit by digit', async () => {
  const { send, demo } = await openProxy()
  const body = chatBody().replace('{', '{"seed":9007199254740993,"user":"\\ud800",')
  expect((await send(chat, { body })).status).toBe(200)
  expect(chatsOf(demo)[0]?.body).toContain('"seed":9007199254740993')
  expect(chatsOf(demo)[0]?.body).toContain('"user":"\\ud800"')
})

/** A chat body of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const empty = chatBody({ ...saying('') })
  return chatBody(saying('a'.repeat(bytes - empty.length)))
}

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += 1000) yield Buffer.from(text.slice(at, at + 1000))
}

test('D01 a body of exactly the limit is read, one byte more is not', async () => {
  const { send } = await openProxy({ file: 'server: { body-limit-mb: 0.01 }' })
  const limit = Math.floor(0.01 * megabyte)
  expect((await send(chat, { body: bodyOf(limit) })).status).toBe(200)
  expect((await send(chat, { body: inPieces(bodyOf(limit)) })).status).toBe(200)
  for (const body of [bodyOf(limit + 1), inPieces(bodyOf(limit + 1)), gzipSync(bodyOf(limit + 1))]) {
    const headers = body instanceof Uint8Array ? { 'content-encoding': 'gzip' } : {}
    const reply = await send(chat, { body, headers })
    expect(reply.status).toBe(413)
    expect(reply.headers.connection).toBe('close')
    expect(errorOf(reply)).toMatchObject({
      code: 'request_too_large',
      message: expect.stringContaining('server.body-limit-mb'),
    })
  }
})

/** Sends a body of 200 MB and watches how much memory buffers take meanwhile. */
async function uploadHuge(headers: Record<string, string>, path = chat) {
  const { send, demo } = await openProxy({ file: 'server: { body-limit-mb: 4 }' })
  const chunk = Buffer.alloc(megabyte, 'a')
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const body = async function* () {
    yield Buffer.from('{"model":"')
    for (let sent = 0; sent < 200; sent += 1) {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      await turn()
      yield chunk
    }
  }
  const reply = await send(path, { body: body(), headers })
  expect(demo.count('/chat/completions')).toBe(0)
  return { reply, grownMb: most / megabyte }
}

test.each([
  ['of stated length', { 'content-length': String(200 * megabyte + 10) }],
  ['of unknown length', {}],
])('D01 a body of 200 MB %s is answered 413, readable, without being kept', async (_what, headers) => {
  const { reply, grownMb } = await uploadHuge(headers)
  expect(reply.status).toBe(413)
  expect(errorOf(reply)).toMatchObject({ code: 'request_too_large', message: expect.stringContaining('4 MB') })
  expect(grownMb).toBeLessThan(40)
})

test.each([
  ['404', '/nowhere', {}, 404],
  ['415', chat, { 'content-type': 'text/plain' }, 415],
  ['403', chat, { origin: 'https://evil.example' }, 403],
])(
  'a body of 200 MB that is refused for another reason (%s) is not kept either',
  async (_what, path, headers, status) => {
    const { reply, grownMb } = await uploadHuge(headers, path)
    expect(reply.status).toBe(status)
    expect(grownMb).toBeLessThan(40)
  },
)

const encoders = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  GZIP: gzipSync,
  deflate: deflateSync,
  // The default quality takes ten times as long.
  br: (text: string) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: zstdCompressSync,
  identity: (text: string) => Buffer.from(text),
}

test.each(Object.entries(encoders))('a body in %s is read', async (encoding, encode) => {
  const { send, demo } = await openProxy()
  const text = `${encoding} ${'é'.repeat(70_000)}`
  const reply = await send(chat, { body: encode(chatBody(saying(text))), headers: { 'content-encoding': encoding } })
  expect(reply.status).toBe(200)
  expect(JSON.parse(chatsOf(demo)[0]?.body ?? '').messages[0].content).toBe(text)
})

test.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
  'D10 a small body in %s that would become huge is answered 413',
  async (encoding) => {
    const { send } = await openProxy({ file: 'server: { body-limit-mb: 1 }' })
    const bomb = encoders[encoding]('a'.repeat(40 * megabyte))
    expect(bomb.length).toBeLessThan(megabyte / 4)
    const before = process.memoryUsage().arrayBuffers
    const reply = await send(chat, { body: bomb, headers: { 'content-encoding': encoding } })
    expect(reply.status).toBe(413)
    expect((process.memoryUsage().arrayBuffers - before) / megabyte).toBeLessThan(20)
  },
)

/** A chat request of so many MB that says little, and little of it twice. */
function wordyChat(megabytes: number): string {
  let content = ''
  for (let at = 0; content.length < megabytes * megabyte; at += 1) {
    content += `${Math.sin(at)} is what test number ${at} returned; every line of this log ends with the same long sentence, `
    content += 'which is there because programs that are run by models print a great deal that was printed before. '
    content +=
      'Nothing was written, nothing was changed, and the exit code of the command was the one that was expected.\n'.repeat(
        4,
      )
  }
  return chatBody({ model: 'demo-bench', ...saying(content) })
}

describe('D10 P14 a compressed body', () => {
  test.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
    'in %s is a 413 if it would decompress to more than 100 times its size',
    { timeout: 60_000 },
    async (encoding) => {
      const { send, chat: ask } = await openProxy()
      // Within server.body-limit-mb, and what the blanks surround would be served.
      const bomb = encoders[encoding](`${' '.repeat(50 * megabyte)}${chatBody({ model: 'demo-bench' })}`)
      const before = process.memoryUsage().arrayBuffers
      const reply = await send(chat, { body: bomb, headers: { 'content-encoding': encoding } })
      expect(reply.status).toBe(413)
      expect(errorOf(reply)).toMatchObject({
        code: 'request_too_large',
        message: expect.stringMatching(/100 times .*without content-encoding/),
      })
      expect((process.memoryUsage().arrayBuffers - before) / megabyte).toBeLessThan(20)
      expect((await ask()).status).toBe(200)
    },
  )

  test.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
    'in %s is read if it compresses like a conversation',
    { timeout: 60_000 },
    async (encoding) => {
      const { send } = await openProxy()
      const text = wordyChat(5)
      const body = encoders[encoding](text)
      const ratio = text.length / body.length
      expect(ratio).toBeGreaterThan(15)
      expect(ratio).toBeLessThan(100)
      expect((await send(chat, { body, headers: { 'content-encoding': encoding } })).status).toBe(200)
    },
  )

  test('of a few bytes may decompress to a megabyte', async () => {
    const { send } = await openProxy()
    const body = brotliCompressSync(`${' '.repeat(megabyte - 1000)}${chatBody()}`)
    expect(body.length).toBeLessThan(200)
    expect((await send(chat, { body, headers: { 'content-encoding': 'br' } })).status).toBe(200)
  })
})

test.each(['gzip', 'deflate', 'br', 'zstd'] as const)('an invalid or truncated %s body is a 400', async (encoding) => {
  const { send, chat: ask } = await openProxy()
  // Fixed text: br has no magic number and no checksum, so some random bytes are a complete empty stream.
  const whole = encoders[encoding](chatBody(saying('some text that is not all the same '.repeat(200))))
  for (const body of [chatBody(), whole.subarray(0, whole.length - 20), whole.subarray(10), '']) {
    const reply = await send(chat, { body, headers: { 'content-encoding': encoding } })
    expect(reply.status).toBe(400)
    expect(errorOf(reply)['message']).toContain(encoding)
  }
  expect((await ask()).status).toBe(200)
})

test.each(['compress', 'gzip, gzip', 'gzip, identity', 'aws-chunked', '__proto__', 'constructor'])(
  'the content encoding "%s" is a 415 that names the supported ones',
  async (encoding) => {
    const { send } = await openProxy()
    const reply = await send(chat, { body: chatBody(), headers: { 'content-encoding': encoding } })
    expect(reply.status).toBe(415)
    expect(errorOf(reply)).toMatchObject({
      code: 'unsupported_media_type',
      message: expect.stringContaining('gzip, deflate, br, zstd'),
    })
  },
)

test('100,000 messages are served', async () => {
  const { chat: ask, demo } = await openProxy()
  const messages = Array.from({ length: times(100_000) }, (_, at) => ({ role: 'user', content: `${at}` }))
  // The bench model does not look at the length of the prompt.
  expect((await ask({ model: 'demo-bench', messages })).status).toBe(200)
  expect(JSON.parse(chatsOf(demo)[0]?.body ?? '').messages).toEqual(messages)
})

test.each([
  ['arrays', '[', ']'],
  ['objects', '{"a":', '}'],
])('%s nested 100,000 deep are a 400', async (_what, open, close) => {
  const { send } = await openProxy()
  const nested = `${open.repeat(100_000)}1${close.repeat(100_000)}`
  for (const [path, body] of [
    [chat, chatBody().replace('{', `{"metadata":${nested},`)],
    ['/v1/embeddings', `{"model":"text-embedding-3-small","input":"a","user":${nested}}`],
  ] as const) {
    const reply = await send(path, { body })
    expect([path, reply.status]).toEqual([path, 400])
    expect(errorOf(reply)['message']).toContain('nested')
  }
})

test.each(['__proto__', 'constructor', 'prototype', 'toString'])(
  'the key "%s" is a key like any other',
  async (key) => {
    const { send, demo, chat: ask } = await openProxy()
    const body = chatBody().replace('{', `{"${key}":{"stream":true,"polluted":true},`)
    const reply = await send(chat, { body })
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toContain('application/json')
    expect(chatsOf(demo)[0]?.body).toContain(`"${key}":{"stream":true,"polluted":true}`)
    const nested = `{"model":"gpt-5-mini","messages":[{"role":"user","content":"a","${key}":{"role":"system"}}]}`
    expect((await send(chat, { body: nested })).status).toBe(200)
    expect(
      (await send('/v1/embeddings', { body: `{"${key}":{"input":"b"},"model":"text-embedding-3-small","input":"a"}` }))
        .status,
    ).toBe(200)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect((await ask()).status).toBe(200)
  },
)

test('of repeated JSON keys the last one counts, and the requested model is the billed model', async () => {
  const { send, demo } = await openProxy()
  const body = '{"model":"nothing","model":"gpt-5-mini","messages":[],"messages":[{"role":"user","content":"Hello"}]}'
  expect((await send(chat, { body })).status).toBe(200)
  expect(JSON.parse(chatsOf(demo)[0]?.body ?? '')).toMatchObject({
    model: 'gpt-5-mini',
    messages: [{ content: 'Hello' }],
  })
})

test('D18 an upload in small pieces is read, and others are served meanwhile', async () => {
  const { send } = await openProxy()
  const text = chatBody(saying('a'.repeat(500)))
  let others = 0
  const body = async function* () {
    for (let at = 0; at < text.length; at += 100) {
      others += (await send('/v1/models')).status
      yield Buffer.from(text.slice(at, at + 100))
    }
  }
  expect((await send(chat, { body: body() })).status).toBe(200)
  expect(others).toBe(200 * Math.ceil(text.length / 100))
})

test.each([
  ['input', '{"model":"text-embedding-3-small"}'],
  ['input', '{"model":"text-embedding-3-small","input":[]}'],
  ['input[1]', '{"model":"text-embedding-3-small","input":["a",7]}'],
  ['input', '{"model":"text-embedding-3-small","input":""}'],
  ['model', '{"input":"a"}'],
  ['model', '{"model":"gpt-5-mini","input":"a"}'],
  ['encoding_format', '{"model":"text-embedding-3-small","input":"a","encoding_format":"hex"}'],
  ['dimensions', '{"model":"text-embedding-3-small","input":"a","dimensions":0}'],
])('an embeddings request with an invalid %s is a 400 that names the field', async (path, body) => {
  const { send, demo } = await openProxy()
  const reply = await send('/v1/embeddings', { body })
  expect(reply.status).toBe(400)
  expect(errorOf(reply)['param']).toBe(path)
  expect(demo.count('/embeddings')).toBe(0)
})
