import { describe, expect, test } from 'vitest'
import { chooseModels } from '../../src/client-settings/choose-models.ts'
import { claudeConflicts } from '../../src/client-settings/claude.ts'
import { launchSettings } from '../../src/client-settings/launch-settings.ts'
import type { LaunchSettings } from '../../src/client-settings/launch-settings.ts'
import type { ClientId } from '../../src/client-settings/target.ts'
import { model, models, target } from './models.ts'

const key = 'sk-copilot-proxy-example'

function settings(client: ClientId, env: Record<string, string> = {}, claudeEnv = {}): LaunchSettings {
  return launchSettings(client, { target: target(client, { key, isKeyAsked: true }), env, claudeEnv })
}

describe.each<ClientId>(['claude', 'codex', 'opencode', 'copilot'])('%s', (client) => {
  test('keeps the user’s environment, and has no key on its command line', () => {
    const { args, env } = settings(client, { EDITOR: 'vi' })
    expect(env['EDITOR']).toBe('vi')
    expect(Object.values(env)).toContain(key)
    expect(args.join(' ')).not.toContain(key)
  })

  test('gets no credential of the proxy’s own', () => {
    const own = ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROXY_CODEX_API_KEY', 'COPILOT_PROXY_SERVER_API_KEYS']
    const { env } = settings(client, Object.fromEntries(own.map((name) => [name, 'secret'])))
    expect(Object.values(env)).not.toContain('secret')
  })

  test('reaches this machine without a proxy, where there is one', () => {
    expect(settings(client).env).not.toHaveProperty('NO_PROXY')
    const { env } = settings(client, { https_proxy: 'http://p.example', NO_PROXY: 'a.example, localhost' })
    expect([env['NO_PROXY'], env['no_proxy']]).toEqual(Array(2).fill('a.example,localhost,127.0.0.1'))
    // An empty variable counts as not set, and spaces separate as well.
    const spaced = settings(client, { HTTP_PROXY: 'p.example', no_proxy: '', NO_PROXY: 'a.example b.example' })
    expect(spaced.env['no_proxy']).toBe('a.example,b.example,127.0.0.1,localhost')
    expect(settings(client, { HTTPS_PROXY: ' ' }).env).not.toHaveProperty('no_proxy')
  })
})

describe('Claude Code', () => {
  test('goes to no other service, and uses no other credential', () => {
    const { env } = settings('claude', Object.fromEntries(claudeConflicts.map((name) => [name, 'theirs'])))
    expect(Object.values(env)).not.toContain('theirs')
    expect(env).toMatchObject({
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:4141',
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: 'claude-sonnet-5',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-4.5',
    })
  })

  test('gets all of it in a settings file too, which no file of the user’s or of the project overrules', () => {
    const { env, file } = settings('claude')
    expect(file?.option).toBe('--settings')
    const given: { readonly env: Record<string, string> } = JSON.parse(file?.text ?? '')
    for (const name of claudeConflicts) expect(given.env[name]).toBe('')
    for (const [name, value] of Object.entries(given.env)) expect(env[name] ?? '').toBe(value)
    expect(given.env['ANTHROPIC_BASE_URL']).toBe('http://127.0.0.1:4141')
  })

  test('goes round a proxy that its own settings name', () => {
    const { env, file } = settings('claude', {}, { HTTP_PROXY: 'http://p.example', NO_PROXY: 'a.example' })
    expect(JSON.parse(file?.text ?? '')).toMatchObject({ env: { NO_PROXY: 'a.example,127.0.0.1,localhost' } })
    expect(env['NO_PROXY']).toBe('a.example,127.0.0.1,localhost')
    expect(settings('claude').file?.text).not.toContain('NO_PROXY')
  })

  test.each([
    ['the lowest limit of its models', [128_000, 64_000], '64000'],
    ['what it asks for by itself, if a small model gives less', [64_000, 16_000], '32000'],
    ['no more than its main model gives', [16_000, 64_000], '16000'],
  ])('asks for %s', (_what, [main = 0, small = 0], limit) => {
    const list = [
      model('claude-sonnet-5', ['messages'], { outputTokens: main }),
      model('claude-haiku-4.5', ['messages'], { outputTokens: small }),
    ]
    const { env } = launchSettings('claude', { target: target('claude', { models: list }), env: {}, claudeEnv: {} })
    expect(env['CLAUDE_CODE_MAX_OUTPUT_TOKENS']).toBe(limit)
  })

  test('gets the context size of a model other than Claude', () => {
    const list = [model('gpt-5.4', ['responses'], { contextTokens: 272_000 })]
    const { env } = launchSettings('claude', { target: target('claude', { models: list }), env: {}, claudeEnv: {} })
    expect(env['CLAUDE_CODE_MAX_CONTEXT_TOKENS']).toBe('272000')
    expect(settings('claude').env).not.toHaveProperty('CLAUDE_CODE_MAX_CONTEXT_TOKENS')
  })
})

describe('Copilot CLI', () => {
  const list = [
    model('claude-sonnet-5', ['messages', 'chat'], { contextTokens: 200_000 }),
    model('gpt-5.4', ['responses'], { contextTokens: 272_000, outputTokens: 128_000 }),
    model('codex/gpt-5.5', ['responses']),
    model('gemini-4', ['chat'], { contextTokens: undefined, outputTokens: undefined }),
  ]
  const start = (id: string, env: Record<string, string> = {}) => {
    const chosen = chooseModels(
      'copilot',
      list,
      list.find((one) => one.id === id),
    )
    return launchSettings('copilot', {
      target: target('copilot', { models: list, ...(chosen && { chosen }) }),
      env,
      claudeEnv: {},
    })
  }

  test.each([
    ['claude-sonnet-5', { TYPE: 'anthropic', BASE_URL: 'http://127.0.0.1:4141', MAX_PROMPT_TOKENS: '200000' }],
    [
      'gpt-5.4',
      { TYPE: 'openai', BASE_URL: 'http://127.0.0.1:4141/v1', WIRE_API: 'responses', MAX_OUTPUT_TOKENS: '128000' },
    ],
    ['codex/gpt-5.5', { WIRE_API: 'responses', MODEL_ID: 'gpt-5.5', WIRE_MODEL: 'codex/gpt-5.5' }],
    ['gemini-4', { TYPE: 'openai', WIRE_API: undefined, MAX_PROMPT_TOKENS: undefined, MAX_OUTPUT_TOKENS: undefined }],
  ])('%s in the API that its upstream speaks, with its limits', (id, wanted) => {
    const { env, args } = start(id)
    const named = Object.entries(wanted).map(([name, value]) => [`COPILOT_PROVIDER_${name}`, value] as const)
    for (const [name, value] of named) expect([name, env[name]]).toEqual([name, value])
    expect(env).toMatchObject({ COPILOT_MODEL: id, COPILOT_OFFLINE: 'true' })
    expect(args).toEqual(['--model', id])
  })

  test('uses no other provider, credential or model of the user’s, and asks GitHub only if the user wants that', () => {
    const names = ['BEARER_TOKEN', 'API_KEY_COMMAND', 'HEADERS', 'TRANSPORT', 'WIRE_MODEL', 'WIRE_API', 'BASE_URL']
    const theirs = Object.fromEntries(names.map((name) => [`COPILOT_PROVIDER_${name}`, 'theirs']))
    const { env } = start('gemini-4', { ...theirs, COPILOT_MODEL: 'theirs', COPILOT_OFFLINE: 'false' })
    expect(Object.values(env)).not.toContain('theirs')
    expect(env['COPILOT_OFFLINE']).toBe('false')
  })
})

/** Two context tiers, as the list of a daemon has them. */
const tiered = ['claude-opus-5', 'gpt-5.6'].flatMap((id) => {
  const facts = { contextTokens: 200_000, contextTier: 'default' } as const
  const prices = { input: 500, output: 2500, cache_read: 12.5, cache_write: null }
  const long = { contextTokens: 922_000, contextTier: 'long', prices } as const
  return [model(id, ['responses'], facts), model(`${id}-long-context`, ['responses'], long)]
})

function tieredSettings(client: ClientId, id: string) {
  const chosen = chooseModels(
    client,
    tiered,
    tiered.find((one) => one.id === id),
  )
  const { env, args } = launchSettings(client, {
    target: target(client, { models: tiered, ...(chosen && { chosen }) }),
    env: {},
    claudeEnv: {},
  })
  return { env, args: args.join(' ') }
}

describe('a client gets the context tier that it requests', () => {
  test.each([
    ['claude-opus-5', 'claude-opus-5', 'CLAUDE_CODE_AUTO_COMPACT_WINDOW', '200000'],
    ['claude-opus-5-long-context', 'claude-opus-5[1m]', 'CLAUDE_CODE_AUTO_COMPACT_WINDOW', '922000'],
    ['gpt-5.6', 'gpt-5.6', 'CLAUDE_CODE_MAX_CONTEXT_TOKENS', '200000'],
    ['gpt-5.6-long-context', 'gpt-5.6[1m]', 'CLAUDE_CODE_MAX_CONTEXT_TOKENS', '922000'],
  ])('Claude Code with %s', (id, name, variable, tokens) => {
    expect(tieredSettings('claude', id).env).toMatchObject({ ANTHROPIC_MODEL: name, [variable]: tokens })
  })

  test.each([
    ['gpt-5.6', '200000'],
    ['gpt-5.6-long-context', '922000'],
    ['claude-opus-5-long-context', '922000'],
  ])('Codex CLI with %s', (id, tokens) => {
    const { args } = tieredSettings('codex', id)
    expect(args).toContain(`-c model="${id}" `)
    expect(args).toContain(`-c model_context_window=${tokens}`)
  })

  test('opencode, of both as models of their own; none is picked for it unasked', () => {
    const { env } = tieredSettings('opencode', '')
    const content = JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')
    expect(content.model).toBe('copilot-proxy/gpt-5.6')
    expect(content.provider['copilot-proxy'].models).toMatchObject({
      'gpt-5.6': { limit: { context: 200_000 } },
      'gpt-5.6-long-context': {
        limit: { context: 922_000 },
        cost: { input: 5, output: 25, cache_read: 0.125 },
      },
    })
  })
})

test('Codex CLI gets options that name the variable of the key', () => {
  expect(settings('codex').args).toEqual(
    [
      'model_providers.copilot-proxy.name="copilot-proxy"',
      'model_providers.copilot-proxy.base_url="http://127.0.0.1:4141/v1"',
      'model_providers.copilot-proxy.wire_api="responses"',
      'model_providers.copilot-proxy.env_key="COPILOT_PROXY_API_KEY"',
      'model="gpt-5.3-codex"',
      'model_provider="copilot-proxy"',
    ].flatMap((option) => ['-c', option]),
  )
})

test('opencode gets every model in the API that serves it untranslated, beside what the user has', () => {
  const own = JSON.stringify({ theme: 'x', provider: { theirs: { npm: 'theirs' } } })
  const content = JSON.parse(
    settings('opencode', { OPENCODE_CONFIG_CONTENT: own }).env['OPENCODE_CONFIG_CONTENT'] ?? '',
  )
  expect(content).toMatchObject({
    theme: 'x',
    model: 'copilot-proxy/claude-sonnet-5',
    small_model: 'copilot-proxy/claude-haiku-4.5',
    provider: { theirs: { npm: 'theirs' } },
  })
  const listed: Record<string, { provider?: { npm: string } }> = content.provider['copilot-proxy'].models
  expect(Object.keys(listed)).toEqual(models.map(({ id }) => id))
  expect(listed['claude-sonnet-5']?.provider?.npm).toBe('@ai-sdk/anthropic')
  expect(listed['gpt-5.3-codex']?.provider?.npm).toBe('@ai-sdk/openai')
  expect(listed['gpt-4.1']?.provider).toBeUndefined()
})

test.each<readonly [own: string, file: readonly string[] | undefined, expected: readonly string[] | undefined]>([
  ['', undefined, undefined],
  ['', ['anthropic'], ['anthropic', 'copilot-proxy']],
  ['', ['copilot-proxy'], ['copilot-proxy']],
  ['{"enabled_providers": ["openai"], /* mine */}', ['anthropic'], ['openai', 'copilot-proxy']],
])('opencode does not ignore the proxy if a setting limits its providers: %j %j', (own, file, expected) => {
  const { env } = launchSettings('opencode', {
    target: target('opencode'),
    env: { OPENCODE_CONFIG_CONTENT: own },
    claudeEnv: {},
    opencodeEnabled: file,
  })
  expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '').enabled_providers).toEqual(expected)
})
