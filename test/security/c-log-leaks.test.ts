import { some } from '../thorough.ts'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codexRecordKind } from '../../src/auth/codex/record.ts'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { codexRecord } from '../auth/codex/support.ts'
import { exampleRecord, recordingLog } from '../auth/support.ts'
import { startCli } from '../cli/cli.ts'
import { createUser, inputOf } from '../commands/harness.ts'
import type { TestUser } from '../commands/harness.ts'
import { openInMemory } from '../http/in-memory.ts'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { canaries, leaksIn, promptCanary } from './canaries.ts'
import { placesOf, startUpstreams } from './upstreams.ts'
import type { Upstreams } from './upstreams.ts'

/** A user who is logged in to both providers, with made-up tokens, and the environment of a program of theirs. */
async function createLoggedIn(upstreams: Upstreams): Promise<{ readonly user: TestUser; readonly stored: string }> {
  const user = await createUser()
  const dir = join(user.home, 'auth')
  const log = recordingLog()
  const copilot = exampleRecord({ github_access_token: canaries.githubToken }, { id: 'copilot-somebody' })
  await createRecordStore({ kind: copilotRecordKind, dir, log }).write(copilot)
  const codex = codexRecord(Date.now(), 60, { refresh_token: canaries.refreshToken })
  await createRecordStore({ kind: codexRecordKind, dir, log }).write(codex)
  Object.assign(user.env, upstreams.env, {
    COPILOT_PROXY_SERVER_API_KEYS: canaries.callerKey,
    HTTPS_PROXY: `http://someone:${canaries.proxyPassword}@127.0.0.1:1`,
  })
  return { user, stored: codex.metadata.access_token }
}

const prompts = [
  'Hello',
  '[expired]',
  '[reflect 400]',
  '[reflect 401]',
  '[reflect 403]',
  '[reflect 404]',
  '[reflect 429]',
  '[reflect 500]',
  '[reflect html]',
  '[reflect text]',
  '[reflect late]',
  '[reset]',
]
const models = ['gpt-5-mini', 'gpt-5.3-codex', 'claude-sonnet-4.5', 'codex/gpt-5.5']

/** Everything the daemon answers: each route, and each way of an upstream to fail, with each upstream dialect. */
async function askEverything(url: string, answers: string[]): Promise<void> {
  const ask = async (method: string, path: string, body?: string, key: string = canaries.callerKey): Promise<void> => {
    const reply = await fetch(url + path, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        cookie: `session=${canaries.cookie}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body }),
    })
    const headers = JSON.stringify([...reply.headers])
    answers.push(`${method} ${path} ${reply.status} ${headers} ${await reply.text().catch(String)}`)
  }
  const routes = await openInMemory().routes()
  expect(routes.length).toBeGreaterThan(10)
  for (const { method, path } of routes) {
    const body = method === 'GET' ? undefined : bodyOfPrompt('chat', 'gpt-5-mini', promptCanary)
    await ask(method, path, body)
  }
  // Twice only: wrong keys are answered ever more slowly.
  for (const path of ['/v1/models', '/v1/messages']) await ask('GET', path, undefined, canaries.wrongKey)
  for (const prompt of prompts) {
    const text = `${promptCanary} ${prompt}`
    const asked = models.flatMap((model, i) =>
      callers.map((caller, j) =>
        ask('POST', dialectPaths[caller], bodyOfPrompt(caller, model, text, { stream: (i + j) % 2 === 0 })),
      ),
    )
    await Promise.all([
      ...asked,
      ask('POST', '/v1/embeddings', JSON.stringify({ model: 'gpt-5-mini', input: text })),
      ask('POST', '/v1/messages/count_tokens', bodyOfPrompt('messages', 'claude-sonnet-4.5', text)),
    ])
  }
  await ask('POST', '/v1/chat/completions', `{"model": "${promptCanary}`)
}

const commands = [
  'status',
  'status --json',
  'usage',
  'usage --json',
  'models',
  'models --json',
  'config show',
  'config show --json',
  'config check',
  'doctor',
  'doctor --json',
  'login --token-stdin',
  'login --no-browser',
  'login codex --device',
  'logout',
  'logout codex',
]

async function runEverything(user: TestUser): Promise<string> {
  const said: string[] = []
  for (const commandLine of commands) {
    const { stdout, stderr } = await user.run(commandLine, { stdin: inputOf(`${canaries.otherGithubToken}\n`) })
    said.push(`${commandLine}\n${stdout}\n${stderr}`)
  }
  return said.join('\n')
}

const formats = [
  { format: 'pretty', change: {} },
  { format: 'json', change: { COPILOT_PROXY_CODEX_API_KEY: canaries.openaiKey } },
]

test.each(some(formats, 2, 1))(
  'C08 C09 C13 the most verbose $format log, every answer and every command hold no credential and no prompt',
  async ({ format, change }) => {
    const upstreams = await startUpstreams()
    const { user, stored } = await createLoggedIn(upstreams)
    Object.assign(user.env, change)
    const cli = startCli(['serve', '--port', '0', '--log-level', 'trace', '--log-format', format], user.env)
    const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
    await cli.seen('stderr', /Copilot model list loaded/)
    await cli.seen('stderr', /Codex model list loaded/)
    const answers: string[] = []
    await askEverything(url, answers)
    upstreams.refuseTokens(true)
    const said = await runEverything(user)
    expect((await fetch(`${url}/v1/models`, { headers: { 'x-api-key': canaries.callerKey } })).status).toBe(200)
    cli.child.kill('SIGTERM')
    const { code, stdout, stderr } = await cli.ended
    expect(code).toBe(0)

    // Make sure that the search has something to find: refusals were sent to callers and logged.
    expect(answers.filter((answer) => answer.includes('Refused: ')).length).toBeGreaterThan(50)
    expect(stderr.match(/Refused: /g)?.length).toBeGreaterThan(50)
    expect(upstreams.issued.length).toBeGreaterThan(1)
    const issued = Object.fromEntries(upstreams.issued.map((token, i) => [`issued ${i}`, token]))
    const secrets = { ...canaries, stored, ...issued }
    expect(leaksIn(stdout + stderr, secrets)).toEqual([])
    expect(answers.filter((answer) => leaksIn(answer, secrets).length > 0)).toEqual([])
    expect(leaksIn(said, secrets)).toEqual([])
    expect(stderr.includes(promptCanary)).toBe(false)
    for (const answer of answers) expect(answer).not.toMatch(/\n\s+at .*:\d+:\d+/)
  },
  60_000,
)

test('C08 log.bodies brings prompts into the log, and still no credential', async () => {
  const upstreams = await startUpstreams()
  const { user, stored } = await createLoggedIn(upstreams)
  const env = { ...user.env, COPILOT_PROXY_LOG_BODIES: 'true' }
  const cli = startCli(['serve', '--port', '0', '--log-level', 'trace'], env)
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  await cli.seen('stderr', /Copilot model list loaded/)
  const text = `${promptCanary} a login of mine: ${canaries.githubToken}`
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${canaries.callerKey}` },
    body: bodyOfPrompt('chat', 'gpt-5-mini', text),
  })
  expect(reply.status).toBe(200)
  cli.child.kill('SIGTERM')
  const { stderr } = await cli.ended
  expect(stderr).toContain(promptCanary)
  expect(leaksIn(stderr, { ...canaries, stored })).toEqual([])
})

test('C16 nothing in the folder a program is started in sets an endpoint, a key or a login', async () => {
  const upstreams = await startUpstreams()
  const { user } = await createLoggedIn(upstreams)
  const hostile = await startUpstreams()
  const folder = join(user.home, 'workspace')
  await mkdir(join(folder, '.copilot-proxy'), { recursive: true })
  const settings = `copilot: { base-url: ${hostile.copilot.url} }\nserver: { api-keys: [${canaries.wrongKey}] }\n`
  const variables = Object.entries({ ...hostile.env, COPILOT_GITHUB_TOKEN: canaries.otherGithubToken })
  const files = {
    '.env': variables.map(([name, value]) => `${name}=${value}\n`).join(''),
    '.npmrc': `registry=${hostile.copilot.url}\nproxy=${hostile.copilot.url}\nhttps-proxy=${hostile.copilot.url}\n`,
    'config.yaml': settings,
    'copilot-proxy.yaml': settings,
    '.copilot-proxy/config.yaml': settings,
    '.copilot-proxyrc': settings,
    '.agent-policy.yaml': settings,
    'package.json': JSON.stringify({ 'copilot-proxy': { copilot: { 'base-url': hostile.copilot.url } } }),
    'node.config.json': JSON.stringify({ nodeOptions: { import: `data:text/javascript,process.exit(7)` } }),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)

  const cli = startCli(['serve', '--port', '0'], user.env, { cwd: folder })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  for (const model of ['gpt-5-mini', 'codex/gpt-5.5']) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${canaries.callerKey}` },
      body: bodyOfPrompt('chat', model, 'Hello'),
    })
    expect([model, answer.status]).toEqual([model, 200])
  }
  cli.child.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0 })
  for (const place of placesOf) expect([place, hostile[place].received]).toEqual([place, []])
  expect(upstreams.copilot.received.length).toBeGreaterThan(0)
})

test('C18 each credential goes to its own host, and what a caller sends of its own to none', async () => {
  const upstreams = await startUpstreams()
  const { user, stored } = await createLoggedIn(upstreams)
  const cli = startCli(['serve', '--port', '0'], user.env)
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  await cli.seen('stderr', /Codex model list loaded/)
  await askEverything(url, [])
  cli.child.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0 })

  const copilotTokens = upstreams.issued.filter((token) => token.startsWith(canaries.copilotToken))
  const codexTokens = [stored, ...upstreams.issued.filter((token) => !copilotTokens.includes(token))]
  const mayHold = {
    githubPages: [],
    githubApi: [canaries.githubToken],
    copilot: copilotTokens,
    issuer: [canaries.refreshToken],
    chatgpt: codexTokens,
    openaiApi: [],
  } as const satisfies Record<(typeof placesOf)[number], readonly string[]>
  const everything = { ...canaries, ...Object.fromEntries([...copilotTokens, ...codexTokens].entries()) }
  for (const place of placesOf) {
    const own: readonly string[] = mayHold[place]
    const foreign = Object.entries(everything).filter(
      ([, secret]) => !own.some((mine) => mine === secret || mine.startsWith(secret)),
    )
    const text = JSON.stringify(upstreams[place].received)
    expect([place, foreign.filter(([, secret]) => text.includes(secret)).map(([name]) => name)]).toEqual([place, []])
    for (const secret of own) expect([place, text.includes(secret)]).toEqual([place, true])
  }
  // A short list of headers may come from a caller; its cookie, its keys and its own name are not among them.
  for (const { headers } of [...upstreams.copilot.received, ...upstreams.chatgpt.received]) {
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('x-api-key')
    expect(headers['user-agent']).not.toMatch(/^node|undici/)
  }
}, 60_000)
