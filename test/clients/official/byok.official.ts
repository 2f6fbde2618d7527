import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import type { Proxy } from '../../http/harness.ts'
import { baseEnvironment, openPlace } from '../place.ts'
import type { Place } from '../client.ts'
import { startClient } from '../run-client.ts'
import { startInTerminal } from '../terminal.ts'
import type { Finished } from '../run-client.ts'
import { generationsOf } from '../upstream-view.ts'

// GitHub's CLI and SDK as clients of the proxy.

const mainFile = join(import.meta.dirname, '../../../src/main.ts')
const programs = join(import.meta.dirname, 'node_modules/.bin')
const key = 'right-key'

interface User {
  readonly proxy: Proxy
  readonly place: Place
  readonly env: Readonly<Record<string, string>>
  readonly run: (program: string, args: readonly string[], more?: Readonly<Record<string, string>>) => Promise<Finished>
  readonly launch: (model: string, ...args: readonly string[]) => Promise<Finished>
}

/** A proxy that asks for a key, and a user who has the CLI, a login of GitHub's and a provider of their own. */
async function openUser(): Promise<User> {
  const proxy = await openProxy({ file: `server: { api-keys: [${key}] }` })
  const place = await openPlace()
  await mkdir(join(place.home, '.copilot'))
  await writeFile(join(place.home, '.copilot/settings.json'), '{"model":"gpt-5-mini"}')
  const base = baseEnvironment(place)
  const env = {
    ...base,
    PATH: `${programs}${delimiter}${base['PATH']}`,
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
    COPILOT_PROXY_SERVER_API_KEYS: key,
    COPILOT_GITHUB_TOKEN: 'ghu_not-used-here',
    COPILOT_PROXY_HOME: join(place.home, 'proxy'),
    COPILOT_AUTO_UPDATE: 'false',
  }
  const run: User['run'] = (program, args, more = {}) =>
    startClient({ program, args, cwd: place.workspace, env: { ...env, ...more } }).finished
  const theirs = {
    COPILOT_PROVIDER_BASE_URL: 'http://127.0.0.1:1/v1',
    COPILOT_PROVIDER_BEARER_TOKEN: 'their-token',
    COPILOT_PROVIDER_WIRE_MODEL: 'their-model',
    COPILOT_MODEL: 'their-model',
  }
  const launch: User['launch'] = (model, ...args) =>
    run(process.execPath, [mainFile, 'launch', 'copilot', '--model', model, '--', ...args], theirs)
  return { proxy, place, env, run, launch }
}

/** Each family in the API that its upstream speaks, with what the model cannot have. */
const models = [
  ['claude-sonnet-5', '/v1/messages', []],
  ['gpt-5.3-codex', '/responses', []],
  ['gemini-3-pro-preview', '/chat/completions', ['clamped;reasoning_effort']],
  // A model that the CLI does not know.
  ['claude-opus-4.7', '/v1/messages', []],
] as const

/** Settings that the proxy left out or limited. */
function lossesOf({ log }: Proxy): readonly string[] {
  const warnings = log.flatMap(({ fields }) => (fields['warnings'] ?? []) as readonly string[])
  return [
    ...new Set(warnings.filter((each) => /^(?:dropped|clamped)/.test(each)).map((each) => each.replace(/ .*$/, ''))),
  ]
}

describe('Copilot CLI', () => {
  test.each(models)('launch runs a tool loop on %s', async (model, route, losses) => {
    const { proxy, place, launch } = await openUser()
    const call = { command: `cat '${join(place.workspace, 'heron.txt')}'`, description: 'Read the note' }
    const prompt = `[demo:tool bash ${JSON.stringify(call)}]`
    const { stdout, stderr, exitCode } = await launch(model, '-p', prompt, '--allow-all-tools')
    expect(stderr).toContain(`Starting Copilot CLI with ${model}.\n`)
    expect(stdout).toContain('about a heron')
    expect(exitCode).toBe(0)
    const sent = generationsOf(proxy)
    expect(sent.map((each) => each.route)).toEqual([route, route])
    expect(new Set(sent.map((each) => each.model))).toEqual(new Set([model]))
    expect(sent.at(-1)?.calls).toMatchObject([{ result: expect.stringContaining('about a heron') }])
    expect(lossesOf(proxy)).toEqual(losses)
  })

  test('in a terminal it starts with the model, without a login and without a notice', async () => {
    const { proxy, place, env } = await openUser()
    const args = [mainFile, 'launch', 'copilot', '--model', 'claude-sonnet-5']
    const terminal = startInTerminal({ program: process.execPath, args, cwd: place.workspace, env })
    await terminal.seen(/enter to select/)
    terminal.type('\r')
    await terminal.seen(/claude-sonnet-5/i)
    terminal.type('Hello there\r')
    await proxy.demo.until(() => generationsOf(proxy).length > 0)
    expect(generationsOf(proxy).map((each) => each.model)).toEqual(['claude-sonnet-5'])
    expect(terminal.shown()).not.toMatch(/gpt-5-mini|log ?in|sign in|error|fail|warning/i)
  })

  test.each([
    ['a long context tier', 'claude-sonnet-4.6-long-context', 'claude-sonnet-4.6'],
    ['a model by its provider', 'copilot/claude-sonnet-5', 'claude-sonnet-5'],
  ])('%s goes by the name that the proxy knows', async (_what, model, upstream) => {
    const { proxy, launch } = await openUser()
    const { stdout } = await launch(model, '-p', 'Hello there')
    expect(stdout).toContain(`Hello from ${upstream}`)
    expect(generationsOf(proxy).map((each) => each.model)).toEqual([upstream])
  })

  test('the settings that setup prints work in a shell', async () => {
    const { place, run } = await openUser()
    const printed = await run(process.execPath, [mainFile, 'setup', 'copilot', '--print', '--model', 'gpt-5.3-codex'])
    const script = printed.stdout.replace('YOUR_KEY', key).replace(/(copilot --model .*)\n$/, '$1 -p "Hello there"\n')
    expect(script).toContain('COPILOT_PROVIDER_MAX_PROMPT_TOKENS')
    const { stdout } = await run('sh', ['-c', script], { HOME: place.home })
    expect(stdout).toContain('Hello from gpt-5.3-codex')
  })
})

test('the CLI runs a tool loop over WebSocket', async () => {
  const { proxy, place, run } = await openUser()
  const printed = await run(process.execPath, [mainFile, 'setup', 'copilot', '--print', '--model', 'gpt-5.3-codex'])
  const call = { command: `cat '${join(place.workspace, 'heron.txt')}'`, description: 'Read the note' }
  const prompt = `[demo:tool bash ${JSON.stringify(call).replaceAll("'", '')}]`
  const script = printed.stdout
    .replace('YOUR_KEY', key)
    .replace(/(copilot --model .*)\n$/, `COPILOT_PROVIDER_TRANSPORT=websockets $1 --allow-all-tools -p '${prompt}'\n`)
  const { stdout } = await run('sh', ['-c', script])
  expect(stdout).toContain('about a heron')
  expect(generationsOf(proxy)).toHaveLength(2)
  const { text } = await proxy.send('/requests', { headers: { authorization: `Bearer ${key}` } })
  expect(JSON.parse(text).requests).toMatchObject([{ method: 'WEBSOCKET' }, { method: 'WEBSOCKET' }])
})

/** A program that uses the SDK. It prints each piece of text on a line, and the answer. */
const program = (provider: object, model: string) => `
import { CopilotClient, approveAll, defineTool } from ${JSON.stringify(join(import.meta.dirname, 'node_modules/@github/copilot-sdk/dist/index.js'))}
const client = new CopilotClient({ useLoggedInUser: false })
const session = await client.createSession({
  model: ${JSON.stringify(model)},
  provider: ${JSON.stringify(provider)},
  streaming: true,
  onPermissionRequest: approveAll,
  tools: [defineTool('find_heron', {
    description: 'Finds a heron',
    parameters: { type: 'object', properties: { where: { type: 'string' } }, required: ['where'] },
    handler: async ({ where }) => 'a heron at ' + where,
  })],
})
session.on('assistant.message_delta', (event) => console.log('piece: ' + JSON.stringify(event.data.deltaContent)))
const answer = await session.sendAndWait({ prompt: '[demo:tool find_heron {"where":"the pond"}]' })
console.log('answer: ' + answer?.data.content)
await session.disconnect()
await client.stop()
`

test.each(models)('the Copilot SDK streams and calls a tool: %s', async (model, route) => {
  const { proxy, run } = await openUser()
  const provider =
    route === '/v1/messages'
      ? { type: 'anthropic', baseUrl: proxy.url, apiKey: key }
      : {
          type: 'openai',
          baseUrl: `${proxy.url}/v1`,
          apiKey: key,
          wireApi: route === '/responses' ? 'responses' : 'completions',
        }
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', program(provider, model)])
  expect(`${stdout}${stderr}`).toContain('answer: ')
  expect(stdout).toMatch(/^answer: .*a heron at the pond/m)
  expect(stdout.match(/^piece: /gm)?.length).toBeGreaterThan(1)
  expect(generationsOf(proxy).map((each) => each.route)).toEqual([route, route])
})
