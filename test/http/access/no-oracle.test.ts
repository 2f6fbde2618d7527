import { expect, test, vi } from 'vitest'
import { connectMcp } from '../../mcp/server/support.ts'
import { connect } from '../../rpc/support.ts'
import { makeFolder } from '../../tools/session.ts'
import { chatBody } from '../client.ts'
import { openProxy } from '../harness.ts'

/** Fits into a Host header, so that it can stand in every place. */
const plainKey = 'plain-key.of-a-person-0123456789'
const codexKey = 'codex-key.of-a-person-0123456789'

/** The same length and letters, and no secret. */
const wrongOf = (secret: string): string => secret.replaceAll(/\d/g, (digit) => String(9 - Number(digit)))

const head = (target: string, { method = 'GET', host = 'localhost', more = '' } = {}): string =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`

const post = (target: string, body: string, more = ''): string =>
  head(target, {
    method: 'POST',
    more: `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}`,
  }) + body

/** Every place of a request where a caller can put a text, apart from those for a key. */
const places: Readonly<Record<string, (guess: string) => string>> = {
  host: (guess) => head('/v1/models', { host: guess }),
  'several names in the host': (guess) => head('/v1/models', { host: `a.${guess}.b` }),
  'malformed host': (guess) => head('/v1/models', { host: `${guess}/` }),
  'second host': (guess) => head('/v1/models', { more: `Host: ${guess}\r\n` }),
  origin: (guess) => head('/v1/models', { more: `Origin: http://${guess}\r\n` }),
  'own origin': (guess) => head('/', { host: guess, more: `Origin: http://${guess}\r\n` }),
  site: (guess) => head('/v1/models', { more: `Sec-Fetch-Site: ${guess}\r\n` }),
  path: (guess) => head(`/${guess}`),
  'page file': (guess) => head(`/page/${guess}`),
  'encoded page file': (guess) => head(`/page/%70${guess}`),
  'below a page file': (guess) => head(`/page/main.js/${guess}`),
  'long page file': (guess) => head(`/page/${guess}${'x'.repeat(500)}`),
  'head of a page file': (guess) => head(`/page/${guess}`, { method: 'HEAD' }),
  'other method of a page file': (guess) => head(`/page/${guess}`, { method: 'PUT' }),
  'model name': (guess) => head(`/v1/models/${guess}`),
  'request id': (guess) => head(`/requests/${guess}`),
  query: (guess) => head(`/v1/models?q=${guess}`),
  'query of the page': (guess) => head(`/?code=${guess}`),
  'query of a public route': (guess) => head(`/healthz?${guess}`),
  'broken url': (guess) => head(`/%zz${guess}`),
  'absolute target': (guess) => head(`http://${guess}/v1/models`),
  'no path': (guess) => head(guess),
  method: (guess) => head('/v1/models', { method: guess }),
  options: (guess) => head(`/${guess}`, { method: 'OPTIONS' }),
  preflight: (guess) =>
    head('/v1/models', {
      method: 'OPTIONS',
      more: `Origin: http://localhost\r\nAccess-Control-Request-Headers: mcp-${guess.replaceAll('.', '-')}\r\n`,
    }),
  'header value': (guess) => head('/v1/models', { more: `User-Agent: ${guess}\r\nX-Request-Id: ${guess}\r\n` }),
  'header name': (guess) => head('/v1/models', { more: `${guess}: 1\r\n` }),
  'broken header': (guess) => head('/v1/models', { more: `${guess}\r\n` }),
  expect: (guess) => head('/v1/models', { more: `Expect: ${guess}\r\n` }),
  upgrade: (guess) => head('/rpc', { more: `Connection: upgrade\r\nUpgrade: ${guess}\r\n` }),
  'content type': (guess) => post('/v1/chat/completions', '{}', `Content-Type: ${guess}\r\n`),
  body: (guess) => post('/v1/chat/completions', chatBody({ model: guess, [guess]: guess })),
  'content type of a page token': (guess) =>
    head('/page/tokens', { method: 'POST', more: `Content-Length: 2\r\nContent-Type: ${guess}\r\n` }) + '{}',
  'encoding of a page token': (guess) => post('/page/tokens', '{}', `Content-Encoding: ${guess}\r\n`),
  'body of a page token': (guess) =>
    post('/page/tokens', JSON.stringify({ [guess]: guess, code: guess, token: guess })),
  'broken body of a page token': (guess) => post('/page/tokens', `{"code": ${guess}`),
  'transfer encoding': (guess) => head('/page/tokens', { method: 'POST', more: `Transfer-Encoding: ${guess}\r\n` }),
}

/** The answer without its time and id, and with a word in place of the guess. */
function comparable(answer: string, guess: string): string {
  return answer
    .replaceAll(/^(?:date|x-request-id): .*\r\n/gim, '')
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')
    .replaceAll(guess, 'GUESS')
    .replaceAll(guess.replaceAll('.', '-').toLowerCase(), 'GUESS')
    .replaceAll(/^content-length: .*\r\n/gim, '')
}

test('before a key is checked, no answer differs between a right and a wrong guess, or repeats it', async () => {
  const { daemon, raw, send } = await openProxy({
    file: `{ server: { api-keys: [${plainKey}] }, codex: { api-key: ${codexKey} }, workspaces: [${await makeFolder()}] }`,
  })
  const answers: Record<string, unknown> = {}
  const wanted: Record<string, unknown> = {}
  for (const [place, ask] of Object.entries(places)) {
    for (const secret of [plainKey, codexKey, daemon.ownerToken.replaceAll(/[^\w]/g, '-')]) {
      const [right, wrong] = [await raw(ask(secret)), await raw(ask(wrongOf(secret)))]
      answers[`${place} ${secret.slice(0, 5)}`] = comparable(right, secret)
      wanted[`${place} ${secret.slice(0, 5)}`] = comparable(wrong, wrongOf(secret))
      // A preflight has no key. Its answer is never redacted, and repeats names of the form that clients use.
      if (place !== 'preflight') expect([place, right]).toEqual([place, expect.not.stringContaining(secret)])
      expect([place, right]).toEqual([place, expect.not.stringContaining('redacted')])
    }
  }
  expect(answers).toEqual(wanted)
  // The honest neighbours: a right key, a file of the page, and a path that the caller mistyped with its key.
  const headers = { authorization: `Bearer ${plainKey}` }
  expect((await send('/v1/models', { headers })).status).toBe(200)
  expect((await send('/page/main.js')).status).toBe(200)
  expect((await send('/v1/modls', { headers })).text).toContain('GET /v1/modls')
})

test('redaction leaves what the caller sent', async () => {
  const { raw } = await openProxy({
    file: `{ codex: { api-key: ${codexKey} }, workspaces: [${await makeFolder()}] }`,
  })
  for (const [place, ask] of Object.entries(places)) {
    const [right, wrong] = [await raw(ask(codexKey)), await raw(ask(wrongOf(codexKey)))]
    expect([place, comparable(right, codexKey)]).toEqual([place, comparable(wrong, wrongOf(codexKey))])
  }
})

test('a key does not find out another plain key from the errors of its requests', async () => {
  const own = 'own-key.of-a-person-0123456789'
  const { send, chat } = await openProxy({ file: `server: { api-keys: [${own}, ${plainKey}] }` })
  const headers = { authorization: `Bearer ${own}` }
  for (const guess of [plainKey, wrongOf(plainKey)]) {
    expect((await send(`/${guess}`, { headers })).text).toContain(guess)
    expect((await chat({ model: guess }, { headers })).text).toContain(guess)
    // The simulated Copilot repeats the value that it refuses.
    expect((await chat({ model: 'gpt-5-mini', reasoning_effort: guess }, { headers })).text).not.toContain('redacted')
  }
})

test('a key does not find out another plain key from tools, sessions, or its own requests', async () => {
  const own = 'own-key.of-a-person-0123456789'
  const guesses = [plainKey, wrongOf(plainKey)]
  const workspace = await makeFolder({ 'notes.txt': guesses.map((guess) => `${guess}\n`).join('') })
  const { daemon, send, chat } = await openProxy({
    file: JSON.stringify({
      server: { 'api-keys': [own, plainKey] },
      workspaces: [workspace],
      log: { bodies: true },
    }),
  })
  const headers = { authorization: `Bearer ${own}` }
  const rpc = await connect(`${daemon.url.replace('http', 'ws')}/rpc`, { headers })
  const { client: mcp } = await connectMcp(`${daemon.url}/mcp`, { key: own })
  rpc.sendText(JSON.stringify({ jsonrpc: '2.0', id: plainKey, method: plainKey, params: {} }))
  const asked = await chat({ messages: [{ role: 'user', content: guesses.join(' ') }] }, { headers })
  const message = await send('/message', {
    headers,
    body: JSON.stringify({ text: `say [demo:echo] ${guesses.join(' ')}` }),
  })
  const { id } = message.json() as { id: string }
  const run = await vi.waitFor(async () => {
    const { text } = await send(`/runs/${id}`, { headers })
    expect(text).toContain('"outcome"')
    return text
  }, 20_000)
  const answers = {
    'id and name of a method': JSON.stringify(await rpc.next()),
    read: JSON.stringify(await rpc.ask('mcp.fs.read', { path: 'notes.txt' })),
    search: JSON.stringify(await rpc.ask('mcp.search.code', { query: 'plain-key' })),
    mcp: JSON.stringify(await mcp.callTool({ name: 'fs_read', arguments: { path: 'notes.txt' } })),
    chat: asked.text,
    run,
    requests: (await send('/requests', { headers })).text,
    request: (await send(`/requests/${String(asked.headers['x-request-id'])}`, { headers })).text,
  }
  for (const [place, text] of Object.entries(answers)) {
    expect([place, text]).toEqual([place, expect.not.stringContaining('redacted')])
    if (place !== 'requests') expect([place, text]).toEqual([place, expect.stringContaining(plainKey)])
  }
})
