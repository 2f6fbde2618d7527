import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { onTestFinished, describe, expect, test } from 'vitest'
import { modelList } from '../../src/api/models.ts'
import { codexRecordKind, toCodexRecord } from '../../src/auth/codex/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { modelsText } from '../../src/commands/models/models.ts'
import type { Model } from '../../src/models/model.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { renderModelList } from '../../src/models/render.ts'
import { createStyle } from '../../src/terminal/output.ts'
import { openProxy } from '../http/harness.ts'
import { codexModel, model, tieredFacts } from '../models/samples.ts'
import { recordingLog } from '../recording-log.ts'
import { startCodex } from '../upstreams/codex.ts'
import { jsonReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { createUser, inputOf, openGithub, recordOutput } from './harness.ts'
import type { TestUser } from './harness.ts'
import { listenForTest } from '../listen-for-test.ts'

async function copilotUser(): Promise<TestUser> {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  return user
}

/** Gives a user a ChatGPT login. @param answer of the backend to the question for its models, each time; default: its own */
async function withCodex(user: TestUser, answer?: Outcome): Promise<TestUser> {
  const codex = await startCodex({})
  onTestFinished(() => codex.close())
  if (answer !== undefined) codex.script('/backend-api/codex/models', { outcome: answer, times: 9 })
  const record = toCodexRecord(codex.login(), { nowMs: Date.now(), issuer: codex.issuer })
  if (record === undefined) throw new Error('the simulated login names no account')
  await createRecordStore({ kind: codexRecordKind, dir: join(user.home, 'auth'), log: recordingLog() }).write(record)
  Object.assign(user.env, {
    COPILOT_PROXY_CODEX_BASE_URL: codex.baseUrl,
    COPILOT_PROXY_CODEX_API_BASE_URL: codex.apiBaseUrl,
    COPILOT_PROXY_CODEX_ISSUER: codex.issuer,
  })
  return user
}

const refusal = jsonReply(403, { detail: 'Region is not supported' })

describe('models without a daemon', () => {
  test('lists the models of both providers, each with its provider and its routes', async () => {
    const { code, stdout, stderr } = await (await withCodex(await copilotUser())).run('models')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^MODEL +VENDOR +PROVIDER +CONTEXT +OUTPUT +CREDITS +CAN +THINKING +CHAT +RESP +MSGS +STATE$/m,
    )
    expect(stdout).toMatch(/^gpt-5-mini +OpenAI +copilot +264k +64k +25\/200 .* {2}yes +yes +resp$/m)
    expect(stdout).toMatch(/^gpt-6-sol +OpenAI +codex +272k +tools vision +low-max +resp +yes +resp$/m)
  })

  test('is the body of the route, as one JSON document', async () => {
    const { code, stdout } = await (await withCodex(await copilotUser())).run('models --json')
    expect(code).toBe(0)
    const { object, data, disabled } = modelList.parse(JSON.parse(stdout))
    expect(object).toBe('list')
    expect(new Set(data.map((row) => row.copilot_proxy.provider))).toEqual(new Set(['copilot', 'codex']))
    expect(disabled).not.toEqual([])
  })

  test('shows no provider where there is one only', async () => {
    expect((await (await copilotUser()).run('models')).stdout).toMatch(/^MODEL +VENDOR +CONTEXT/m)
  })

  test('with a Codex login alone shows what a daemon would: Copilot’s are built in, and it says so', async () => {
    const { code, stdout } = await (await withCodex(await createUser())).run('models')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^gpt-5\.5 +OpenAI +codex /m)
    expect(stdout).toMatch(/^grok-code-fast-1 +\w+ +copilot /m)
    expect(stdout).toMatch(/^The models of copilot are from a built-in list\. /)
  })

  test('shows one provider’s models while the other refuses, says so and exits with 1', async () => {
    const { code, stdout, stderr } = await (await withCodex(await copilotUser(), refusal)).run('models')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^gpt-5-mini +OpenAI +copilot /m)
    expect(stdout).toMatch(/^The models of codex are from a built-in list\. /)
    expect(stderr).toMatch(/^Note: Could not get the models of Codex: .*Region is not supported/)
  })

  test('takes a list that is none for a refusal', async () => {
    const user = await withCodex(await copilotUser(), jsonReply(200, { hello: 'there' }))
    const { code, stderr } = await user.run('models')
    expect(code).toBe(1)
    expect(stderr).toMatch(/Codex did not answer with a model list/)
  })

  test('fails as the provider did where no other has a login', async () => {
    expect(await (await withCodex(await createUser(), refusal)).run('models')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Region is not supported'),
    })
  })

  test('fails with 3 where nobody is logged in anywhere', async () => {
    expect(await (await createUser()).run('models')).toMatchObject({ code: 3, stdout: '' })
  })
})

/** A user whose daemon lists models with this body. */
async function userOfDaemon(body: unknown): Promise<TestUser> {
  const health = { ok: true, copilot: 'ok', version: '0.0.0-test' }
  const server = createServer(({ url }, response) => {
    const answer = url === '/healthz' ? health : body
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(await listenForTest(server))
  return user
}

describe('models of a running daemon', () => {
  test('are shown with their providers, and no provider is asked', async () => {
    const registry = createModelRegistry({ aliases: {}, hide: [] })
    registry.register('record-1', [model('gpt-5.5')])
    registry.register('account-1', [codexModel('gpt-5.5')])
    const user = await userOfDaemon(renderModelList(registry.list(), 'auto'))
    const { code, stdout } = await user.run('models')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^gpt-5\.5 +copilot /m)
    expect(stdout).toMatch(/^codex\/gpt-5\.5 +OpenAI +codex .* {2}resp +yes +resp$/m)
  })

  test('of a version that says more are shown, and one that says less is to be restarted', async () => {
    const registry = createModelRegistry({ aliases: {}, hide: [] })
    registry.register('record-1', [model('gpt-5.5')])
    const list = renderModelList(registry.list(), 'auto')
    const newer = await userOfDaemon({
      ...list,
      more: 1,
      data: list.data.map((row) => Object.assign({ more: 1 }, row)),
    })
    expect(await newer.run('models')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^gpt-5\.5 /m) })
    const older = await userOfDaemon({ object: 'list', data: [{ id: 'gpt-5', copilot_proxy: {} }] })
    expect(await older.run('models')).toMatchObject({
      code: 1,
      stderr: 'The running copilot-proxy is another version. Run: copilot-proxy restart\n',
    })
  })
})

/** The API version in which upstream lists two tiers. */
const tieredFile = "copilot: { headers: { x-github-api-version: '2026-06-01' } }"

function sample(id: string, facts: Partial<Model> = {}): Model {
  return model(id, {
    vendor: 'Anthropic',
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    endpoints: ['/v1/messages', '/chat/completions'],
    supports: { toolCalls: true, vision: true, reasoningEffort: ['low', 'medium', 'high', 'max'] },
    ...facts,
  })
}

function listed(...all: readonly Model[]) {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('record-1', all)
  const read = (some: ReturnType<typeof registry.list>) => modelList.parse(renderModelList(some, 'auto')).data
  return [read(registry.list()), read(registry.listSwitchedOff())] as const
}

function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map(({ id }) => id)
}

describe('the table of models', () => {
  const lists = listed(
    sample('claude-sonnet-4.5-fast', { family: 'claude-sonnet-4.5' }),
    sample('claude-opus-5', { policy: 'unconfigured', supports: { reasoningEffort: ['none', 'low', 'high'] } }),
    sample('gpt-5.4', { vendor: 'OpenAI', ...tieredFacts }),
    sample('gpt-5-mini', { vendor: 'Azure OpenAI', preview: true, endpoints: ['/responses'] }),
    sample('gpt-6', { vendor: 'A vendor that nobody knows', policy: 'disabled', ...tieredFacts }),
    sample('text-embedding-3-small', { type: 'embeddings', endpoints: ['/embeddings'], supports: {} }),
  )

  test.each([Infinity, 160, 100, 80, 60])(
    'fits %d columns, and leaves out first what matters least',
    async (columns) => {
      const text = modelsText(...lists, { columns, style: createStyle(false) })
      await expect(text).toMatchFileSnapshot(`../golden/models/${columns}.txt`)
      for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
      expect(text).toMatch(/^MODEL /)
    },
  )

  test('cuts a long name where even that column does not fit', () => {
    const text = modelsText(...lists, { columns: 20, style: createStyle(false) })
    expect(text).toMatch(/^MODEL\nclaude-sonnet-4\.5-f…\ngpt-5\.4\n/)
  })

  test('shows an alias as a row of its own that names its model', () => {
    const registry = createModelRegistry({ aliases: { best: ['gpt-5.4', 'gpt-4.1'], gpt: 'gpt-4.1' }, hide: [] })
    const notices = [{ level: 'warning', message: 'Ends soon' }] as const
    registry.register('record-1', [sample('gpt-5.4', tieredFacts), sample('gpt-4.1', { notices })])
    const rows = modelList.parse(renderModelList(registry.list(), 'auto')).data
    const text = modelsText(rows, [], { columns: 200, style: createStyle(false) })
    expect(text).toMatch(/^best -> gpt-5\.4 +Anthropic +272k/m)
    expect(text).toMatch(/^best\[1m\] -> gpt-5\.4\[1m\] +922k/m)
    expect(text).toMatch(/^gpt -> gpt-4\.1 /m)
    expect(text).toContain('NAME -> MODEL: an alias of yours (models.aliases).')
    expect(text.match(/Ends soon/g)).toHaveLength(1)
  })

  test('dims what is switched off, on a terminal only', () => {
    const dim = createStyle(true).dim('x').split('x')[0] ?? ''
    const lines = modelsText(...lists, { columns: 200, style: createStyle(true) }).split('\n')
    expect(lines.filter((line) => line.startsWith(`${dim}gpt-6 `))).toHaveLength(1)
    expect(lines.filter((line) => line.includes(dim))).toEqual([
      expect.stringContaining('claude-opus-5 '),
      expect.stringContaining('gpt-6 '),
    ])
  })

  test('asks the daemon for what is switched off, and says so in its own part of the JSON', async () => {
    const { port, chat } = await openProxy()
    await chat({ model: 'claude-sonnet-4.5' })
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
    const { stdout } = await user.run('models')
    expect(stdout).toMatch(/^claude-opus-4\.5 .* disabled$/m)
    expect(stdout).toMatch(
      /^Disabled for your account: claude-opus-4\.5, gemini-3\.1-pro-preview \(pending\), grok-4\.5 \(requires_consent\)\. To enable one: copilot-proxy models enable MODEL/m,
    )
    const { data, disabled } = JSON.parse((await user.run('models --json')).stdout)
    expect(idsOf(disabled)).toEqual(['claude-opus-4.5', 'gemini-3.1-pro-preview', 'grok-4.5'])
    for (const id of idsOf(disabled)) expect(idsOf(data)).not.toContain(id)
  })

  test('shows a long context tier with its window and its price, and upstream’s notices', async () => {
    const { port, chat } = await openProxy({ file: tieredFile })
    await chat({ model: 'claude-sonnet-4.5' })
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
    const { stdout } = await user.run('models')
    expect(stdout).toMatch(/^gpt-5\.2 +OpenAI +272k +128k +175\/1400 +tools/m)
    expect(stdout).toMatch(/^gpt-5\.2\[1m\] +922k +128k +350\/2100$/m)
    expect(stdout).toMatch(/^Warning for gemini-2\.5-pro: This simulated model is retired/m)
    const { data } = JSON.parse((await user.run('models --json')).stdout)
    expect(data.find(({ id }: { id: string }) => id === 'claude-haiku-4.5')).toMatchObject({
      copilot_proxy: { prices: { default: { input: 100, output: 500, cache_read: 10, cache_write: 125 } } },
    })
  })
})

describe('one model', () => {
  const aliases = { fast: 'gpt-5-mini', 'claude-*-latest': 'claude-sonnet-4.5', best: ['gpt-5.4', 'gpt-5-mini'] }

  async function openUser(file = `models: { aliases: ${JSON.stringify(aliases)} }`): Promise<TestUser> {
    const { port, chat } = await openProxy({ file })
    await chat({ model: 'claude-sonnet-4.5' })
    const user = await createUser()
    await writeFile(join(user.home, 'config.yaml'), file)
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
    return user
  }

  test('is shown with its limits, prices, APIs and aliases', async () => {
    const user = await openUser()
    const { code, stdout, stderr } = await user.run('models gpt-5-mini')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    await expect(stdout).toMatchFileSnapshot('../golden/models/gpt-5-mini.txt')
  })

  test('is wrapped at the edge of the screen', async () => {
    const user = await openUser(`${tieredFile}\nmodels: { aliases: ${JSON.stringify(aliases)} }`)
    const screen = recordOutput(60)
    expect(await user.run('models gpt-5.2', { stdout: screen })).toMatchObject({ code: 0 })
    const text = screen.text()
    expect(text).toMatch(/^Long context +gpt-5\.2\[1m\], up to 922k tokens$/m)
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(60)
  })

  test.each([
    ['gpt-5-mini', 'gpt-5-mini', { resolved_by: 'id', aliases: ['fast'], fallback_of: ['best'] }, ''],
    ['copilot/gpt-5-mini', 'gpt-5-mini', { resolved_by: 'id' }, ''],
    ['fast', 'fast', { resolved_by: 'alias', copilot_proxy: { alias_of: 'gpt-5-mini' } }, '"fast" is your alias for'],
    [
      'claude-x-latest',
      'claude-sonnet-4.5',
      { resolved_by: 'alias_pattern', alias_pattern: 'claude-*-latest' },
      '"claude-x-latest" matches your alias claude-*-latest for claude-sonnet-4.5.',
    ],
    [
      'openai/GPT-5-Mini',
      'gpt-5-mini',
      { resolved_by: 'spelling' },
      '"openai/GPT-5-Mini" is another spelling of gpt-5-mini.',
    ],
    [
      'claude-opus-4.5',
      'claude-opus-4.5',
      { copilot_proxy: { policy: 'disabled' } },
      'disabled; enable it at https://',
    ],
  ])('%s is found, and how', async (name, id, facts, sentence) => {
    const user = await openUser()
    expect(JSON.parse((await user.run(`models ${name} --json`)).stdout)).toMatchObject({
      id,
      requested_name: name,
      ...facts,
    })
    expect((await user.run(`models ${name}`)).stdout).toContain(sentence)
  })

  test.each(['', 'without a daemon'])('that does not exist: similar ones are named %s', async (how) => {
    const user = how === '' ? await openUser() : await copilotUser()
    const { code, stdout, stderr } = await user.run('models gpt-5-mimi')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/'gpt-5-mimi' does not exist.*gpt-5-mini/)
  })

  test('is found without a daemon too', async () => {
    const { stdout } = await (await copilotUser()).run('models claude-haiku-4-5-20251001')
    expect(stdout).toContain('"claude-haiku-4-5-20251001" is another spelling of claude-haiku-4.5.')
  })
})
