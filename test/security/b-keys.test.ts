import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { startCli } from '../cli/cli.ts'
import { chatBody, contentOf, saying } from '../http/client.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { canaries, leaksIn } from './canaries.ts'
import { expectUnharmed } from './unharmed.ts'
import { event, finish } from '../http/word-stream.ts'

// Guards against a hang only: processes take their time to start on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const right = 'right-key-0123456789'

function bearer(key: string): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` }
}

function sha256(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

const messagesBody = chatBody({ max_tokens: 10 })

describe('B01 without a key the answer is a 401', () => {
  test.each([
    ['/v1/chat/completions', chatBody()],
    ['/v1/responses', JSON.stringify({ model: 'gpt-5-mini', input: 'Hello' })],
    ['/v1/embeddings', JSON.stringify({ model: 'text-embedding-3-small', input: 'a' })],
  ])('in OpenAI’s shape at %s', async (path, body) => {
    const proxy = await openProxy({ file: `server: { api-keys: [${right}] }` })
    const reply = await proxy.send(path, { body })
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(reply.json()).toEqual({
      error: { message: expect.any(String), type: 'authentication_error', code: 'invalid_api_key', param: null },
    })
    expect(proxy.demo.count('/chat/completions')).toBe(0)
  })

  test.each(['/v1/messages', '/v1/messages/count_tokens'])('in Anthropic’s at %s', async (path) => {
    const proxy = await openProxy({ file: `server: { api-keys: [${right}] }` })
    const reply = await proxy.send(path, { body: messagesBody })
    expect(reply.status).toBe(401)
    expect(reply.json()).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: expect.any(String) },
      request_id: expect.any(String),
    })
    expect(proxy.demo.count('/chat/completions')).toBe(0)
  })
})

test('B02 keys are compared in one place, by digest and in constant time', async () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url))
  const names = (await readdir(src, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const filesWith = async (pattern: RegExp) => {
    const found = await Promise.all(names.map(async (name) => pattern.test(await readFile(join(src, name), 'utf8'))))
    return names.filter((_name, at) => found[at]).toSorted()
  }
  expect(await filesWith(/\btimingSafeEqual\b/)).toContain('http/access/api-keys.ts')
  // The one-time codes of the page are compared as keys are.
  expect(await filesWith(/\bfindKey\(/)).toEqual([
    'http/access/api-keys.ts',
    'http/access/guards.ts',
    'http/access/owner-access.ts',
  ])
  // Who else has the keys in hand shows, counts or sends one, and compares none with what came in.
  expect((await filesWith(/\bpresentedKeys\(/)).filter((name) => name !== 'http/serve.ts')).toEqual([
    'http/access/api-keys.ts',
    'http/access/guards.ts',
  ])
  const source = await readFile(join(src, 'http/access/api-keys.ts'), 'utf8')
  const [findKey] = /^export function findKey.*?^}$/ms.exec(source) ?? []
  expect(findKey).toMatch(/\btimingSafeEqual\(digest, key\.digest\)/)
  // Nothing else is compared in there, and nothing leaves early.
  expect(findKey).not.toMatch(
    /[!=]==|\bbreak\b|\bcontinue\b|\.(?:equals|compare|find|some|includes|indexOf|get|has)\(|return (?!match$)/m,
  )
})

describe('B02 a key that is in the file as a hash', () => {
  const file = `server: { api-keys: ["laptop:sha256:${sha256(right)}", "phone:sha256:${sha256('phone-key').toUpperCase()}"] }`

  test('opens with the key itself and with nothing from the file', async () => {
    const { send } = await openProxy({ file })
    const statusOf = async (key: string) => (await send('/v1/models', { headers: bearer(key) })).status
    expect(await statusOf(right)).toBe(200)
    expect(await statusOf('phone-key')).toBe(200)
    for (const wrong of [sha256(right), `laptop:sha256:${sha256(right)}`, 'laptop', `laptop:${right}`]) {
      expect([wrong, await statusOf(wrong)]).toEqual([wrong, 401])
    }
  })

  test('is called by its name in the log', async () => {
    const { chat, log } = await openProxy({ file })
    await chat({}, { headers: bearer(right) })
    await chat({ model: 'nothing' }, { headers: { 'x-api-key': 'phone-key' } })
    const keys = log.flatMap(({ fields }) => (fields['key'] === undefined ? [] : [fields['key']]))
    expect(keys).toEqual(['laptop', 'phone'])
    expect(JSON.stringify(log)).not.toMatch(new RegExp(`${right}|${sha256(right)}|phone-key`))
  })
})

/** Starts a daemon whose configuration file holds this text and has this mode. */
async function serveWith(text: string, mode: number, change: Readonly<Record<string, string>> = {}) {
  const { home } = await createUser()
  const file = join(home, 'config.yaml')
  await writeFile(file, text)
  await chmod(file, mode)
  return startCli(['serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: home, ...change })
}

describe('B03 a configuration file that others can read', () => {
  const withKey = `server: { api-keys: [${right}] }\n`
  const exposed =
    /other users of this machine can read server\.api-keys in \S+config\.yaml\. Run: chmod 600 \S+config\.yaml/

  test('is warned of, and served', async () => {
    const cli = await serveWith(withKey, 0o644)
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    await cli.seen('stderr', exposed)
    expect((await fetch(`${url}/v1/models`, { headers: bearer(right) })).status).toBe(200)
    cli.child.kill('SIGTERM')
    expect((await cli.ended).stderr).not.toContain(right)
  })

  test.each([0o640, 0o604])('with mode %o is refused where permissions are strict', async (mode) => {
    const cli = await serveWith(`${withKey}auth: { strict-permissions: true }\n`, mode)
    const { code, stdout, stderr } = await cli.ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(exposed)
    expect(stderr).not.toContain(right)
  })

  test.each([
    ['it is private', withKey, 0o600, {}],
    ['it holds a hash only', `server: { api-keys: ["laptop:sha256:${sha256(right)}"] }\n`, 0o644, {}],
    ['the keys are in the environment', '', 0o644, { COPILOT_PROXY_SERVER_API_KEYS: right }],
  ])('is nobody’s business where %s', async (_what, text, mode, env) => {
    const cli = await serveWith(`${text}auth: { strict-permissions: true }\n`, mode, env)
    await cli.seen('stdout', /listening on (\S+)/)
    cli.child.kill('SIGTERM')
    expect((await cli.ended).stderr).not.toContain('can read it')
  })

  test('is warned of when it begins to hold a key, or holds that of OpenAI', async () => {
    const { home } = await createUser()
    const file = join(home, 'config.yaml')
    await writeFile(file, '')
    await chmod(file, 0o644)
    const cli = startCli(['serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: home })
    await cli.seen('stdout', /listening on (\S+)/)
    await writeFile(file, 'codex: { api-key: "sk-made-up-0123456789" }\n')
    await cli.seen('stderr', /other users of this machine can read codex\.api-key in \S+config\.yaml/)
  })
})

/** Opens a stream that has said one word and waits. */
async function openStream({ demo, open }: Proxy, path: string, key: string) {
  demo.script('/chat/completions', { outcome: streamReply([event('one '), event('two'), finish]) })
  const gate = demo.gateNext()
  gate.release(1)
  const messages = saying('Hello')
  const input = path.endsWith('responses') ? { input: 'Hello' } : { ...messages, max_tokens: 10 }
  const body = JSON.stringify({ model: 'gpt-4.1', stream: true, ...input })
  const reply = await open(path, { body, headers: bearer(key) })
  let text = ''
  while (!text.includes('one ')) text += await reply.next()
  return { reply, gate }
}

describe('B04 a key that is removed by a reload', () => {
  const before = 'server: { api-keys: [old-key, other-key] }'
  const after = 'server: { api-keys: [other-key, new-key] }'

  test.each([
    ['/v1/chat/completions', /^data: \{"error":\{.*"type":"authentication_error".*"invalid_api_key"/m],
    ['/v1/messages', /^event: error\ndata: \{"type":"error","error":\{"type":"authentication_error"/m],
    ['/v1/responses', /^event: (?:error|response\.failed)\n/m],
  ])('ends the streams of %s that it opened, in an error event, and no others', async (path, ending) => {
    const proxy = await openProxy({ file: before })
    const revoked = await openStream(proxy, path, 'old-key')
    const kept = await openStream(proxy, path, 'other-key')
    proxy.daemon.reconfigure(proxy.configure(after))
    const rest = await revoked.reply.rest()
    expect(rest).toMatch(ending)
    expect(rest).not.toMatch(/\[DONE\]|message_stop|response\.completed/)
    await proxy.demo.until(() => proxy.demo.aborted() === 1)
    kept.gate.open()
    const whole = await kept.reply.rest()
    expect(whole).toContain('two')
    expect(whole).not.toContain('authentication_error')
    revoked.gate.open()
    expect((await proxy.send('/v1/models', { headers: bearer('old-key') })).status).toBe(401)
    expect((await proxy.send('/v1/models', { headers: bearer('new-key') })).status).toBe(200)
  })

  test('ends a request that has no answer yet with 401', async () => {
    const proxy = await openProxy({ file: before })
    const gate = proxy.demo.gateNext()
    const waiting = proxy.chat({}, { headers: bearer('old-key') })
    await gate.opened
    proxy.daemon.reconfigure(proxy.configure(after))
    const reply = await waiting
    expect(reply.status).toBe(401)
    expect(reply.json()).toMatchObject({
      error: { code: 'invalid_api_key', message: expect.stringContaining('has been removed') },
    })
    gate.open()
  })

  test('closes the connections it was used on last, within five seconds, and leaves the others', async () => {
    const proxy = await openProxy({ file: before })
    const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true }), new Agent({ keepAlive: true })]
    const [revoked, kept, moved] = agents
    const ask = async (agent: Agent | undefined, key: string) => {
      const reply = await proxy.open('/v1/models', { headers: bearer(key), ...(agent && { agent }) })
      const { socket } = reply.stream
      await reply.rest()
      return { status: reply.status, socket }
    }
    const { socket } = await ask(revoked, 'old-key')
    const other = (await ask(kept, 'other-key')).socket
    const third = (await ask(moved, 'old-key')).socket
    proxy.daemon.reconfigure(proxy.configure(after))
    // A client that has learned of the new key in the meantime goes on where it is.
    expect((await ask(moved, 'new-key')).socket).toBe(third)
    await once(socket, 'close', { signal: AbortSignal.timeout(5000) })
    expect([other.destroyed, third.destroyed]).toEqual([false, false])
    expect((await ask(kept, 'other-key')).socket).toBe(other)
    for (const agent of agents) agent.destroy()
  })

  test('is not missed where no key is asked for any more, nor where only its name or form has changed', async () => {
    const proxy = await openProxy({ file: before })
    const stream = await openStream(proxy, '/v1/chat/completions', 'old-key')
    proxy.daemon.reconfigure(proxy.configure(`server: { api-keys: ["laptop:sha256:${sha256('old-key')}"] }`))
    proxy.daemon.reconfigure(proxy.configure(''))
    stream.gate.open()
    expect(contentOf(await stream.reply.rest())).toBe('two')
  })
})

describe('B05 what anybody may know', () => {
  test('of a daemon that works', async () => {
    const { send, chat } = await openProxy({ file: `server: { api-keys: [${right}] }` })
    await chat({}, { headers: bearer(right) })
    const health = await send('/healthz')
    expect([health.status, health.json()]).toEqual([200, { ok: true, copilot: 'ok', version: '0.0.0-test' }])
    const ready = await send('/readyz')
    expect([ready.status, ready.json()]).toEqual([200, { ok: true }])
  })

  test('of one whose login is refused, in words that name an account', async () => {
    const proxy = await openProxy({
      file: `server: { api-keys: [${right}] }`,
      demo: { settings: { entitlementProblem: 'no_copilot_access' } },
    })
    await proxy.chat({}, { headers: bearer(right) })
    const health = await proxy.send('/healthz')
    expect([health.status, health.json()]).toEqual([200, { ok: true, copilot: 'unavailable', version: '0.0.0-test' }])
    const ready = await proxy.send('/readyz')
    expect([ready.status, ready.json()]).toEqual([
      503,
      {
        error: {
          message:
            'Neither Copilot nor Codex is available. Run: copilot-proxy login (if you are already logged in: copilot-proxy status)',
          type: 'service_unavailable_error',
          code: 'copilot_unavailable',
          param: null,
        },
      },
    ])
    expect(ready.text).not.toContain('demo-user')
  })
})

test('no route gives a credential away, to whoever has a key', async () => {
  const key = canaries.callerKey
  const proxy = await openProxy({ file: `server: { api-keys: [${key}] }`, codexLogin: 'api-key' })
  await proxy.chat({}, { headers: bearer(key) })
  const { text } = await proxy.send('/nowhere', { headers: bearer(key) })
  const paths = [...text.matchAll(/GET (\/[\w/:.-]*\w|\/)/g)].map(([, path = '']) => path)
  const guesses = [
    '/token',
    '/env',
    '/config',
    '/debug',
    '/auth',
    '/keys',
    '/v1/token',
    '/metrics',
    '/.env',
    '/config.yaml',
  ]
  for (const path of [...paths, ...guesses]) {
    const reply = await proxy.send(path, { headers: bearer(key) })
    const visible = `${reply.text}${JSON.stringify(reply.headers)}`
    expect([path, leaksIn(visible, { key, codex: proxy.codex.apiKey })]).toEqual([path, []])
    expect([path, /ghu_|tid=|sk-/.exec(visible)]).toEqual([path, null])
  }
  // Every guess but those that happen to exist is an unknown route.
  expect(paths).not.toEqual(expect.arrayContaining(['/token']))
})

describe('wrong keys', () => {
  test('are slowed from the eleventh on, refused when too many wait, and never lock out a right one that has been used', async () => {
    const proxy = await openProxy({ file: `server: { api-keys: [${right}] }` })
    const guess = (n: number) => proxy.send('/v1/models', { headers: bearer(`wrong-key-${n}`) })
    expect((await proxy.send('/v1/models', { headers: bearer(right) })).status).toBe(200)
    for (let n = 0; n < 10; n += 1) expect((await guess(n)).status).toBe(401)
    const flood = Array.from({ length: 30 }, (_, n) => guess(n))
    // While the answers to wrong keys are held back, the right one is answered.
    for (let round = 0; round < 3; round += 1) {
      expect((await proxy.send('/v1/models', { headers: bearer(right) })).status).toBe(200)
    }
    const replies = await Promise.all(flood)
    const refused = replies.filter(({ status }) => status === 429)
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(30 - refused.length)
    expect(refused.length).toBeGreaterThan(0)
    for (const reply of refused) {
      expect(reply.headers).toMatchObject({ 'retry-after': '2', 'x-should-retry': 'false', connection: 'close' })
      expect(reply.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'too_many_wrong_keys' } })
    }
    expect((await proxy.send('/v1/models', { headers: bearer(right) })).status).toBe(200)
    expect((await proxy.send('/v1/models')).status).toBe(401)
    await expectUnharmed(
      { send: (path) => proxy.send(path, { headers: bearer(right) }) },
      ...replies.map(({ text }) => text),
    )
    expect(JSON.stringify(proxy.log)).not.toMatch(/wrong-key|right-key/)
  })
})

test('a login of GitHub’s is no key, and a key is no login', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  const token = github.tokens.issueGithub()
  const cli = startCli(['serve', '--port', '0'], {
    COPILOT_PROXY_HOME: user.home,
    COPILOT_PROXY_SERVER_API_KEYS: right,
    COPILOT_GITHUB_TOKEN: token,
    ...githubVariables(github),
  })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  expect((await fetch(`${url}/v1/models`, { headers: bearer(token) })).status).toBe(401)
  expect((await fetch(`${url}/v1/models`, { headers: bearer(right) })).status).toBe(200)
  for (const { headers } of github.log) expect(JSON.stringify(headers)).not.toContain(right)
})
