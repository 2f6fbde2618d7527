import { describe, expect, test } from 'vitest'
import { launchSettings } from '../../src/client-settings/launch-settings.ts'
import type { LaunchSettings } from '../../src/client-settings/launch-settings.ts'
import type { ClientId } from '../../src/client-settings/clients.ts'
import { model, models, target } from './models.ts'

const key = 'sk-copilot-proxy-example'

function settings(client: ClientId, env: Record<string, string> = {}, claudeEnv = {}): LaunchSettings {
  return launchSettings(client, { target: target(client, { key, isKeyAsked: true }), env, claudeEnv })
}

describe.each<ClientId>(['claude', 'codex', 'opencode'])('%s', (client) => {
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
  })
})

describe('Claude Code', () => {
  test('goes to no other service, and uses no other credential', () => {
    const conflicts = { ANTHROPIC_API_KEY: 'sk-ant-theirs', CLAUDE_CODE_USE_BEDROCK: '1', CLAUDE_CODE_USE_VERTEX: '1' }
    const { env, file } = settings('claude', conflicts)
    expect(env).toMatchObject({
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:4141',
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: 'claude-sonnet-5',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-4.5',
      ANTHROPIC_API_KEY: undefined,
      CLAUDE_CODE_USE_BEDROCK: undefined,
      CLAUDE_CODE_USE_VERTEX: undefined,
    })
    expect(file).toBeUndefined()
  })

  test('gets a settings file for what its own one would overrule, and for nothing else', () => {
    const own = { ANTHROPIC_BASE_URL: 'https://theirs.example', CLAUDE_CODE_USE_BEDROCK: '1', FOO: '1' }
    const { file } = settings('claude', {}, own)
    expect(file?.option).toBe('--settings')
    expect(JSON.parse(file?.text ?? '')).toEqual({
      env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:4141', CLAUDE_CODE_USE_BEDROCK: '' },
    })
  })

  test('is told the size of a model that is not Claude’s', () => {
    const list = [model('gpt-5.4', ['responses'], { contextTokens: 272_000 })]
    const { env } = launchSettings('claude', { target: target('claude', { models: list }), env: {}, claudeEnv: {} })
    expect(env['CLAUDE_CODE_MAX_CONTEXT_TOKENS']).toBe('272000')
    expect(settings('claude').env).not.toHaveProperty('CLAUDE_CODE_MAX_CONTEXT_TOKENS')
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
