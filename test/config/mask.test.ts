import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { maskConfig, secretValues, showConfig } from '../../src/config/secrets.ts'
import { loaded } from './loading.ts'

const secrets = {
  file: `server:
  api-keys: [key-example-0123456789, key-short]
  port: 5
codex: {api-key: sk-example-0123456789abcd}
copilot:
  headers: {x-gateway-token: token-example-0123456789, x-plain: shown}
models: {aliases: {fast: gpt-5-mini}}
`,
  env: { COPILOT_PROXY_LOG_LEVEL: 'debug' },
}

describe('maskConfig', () => {
  test('shows at most the last four characters of a secret, and nothing of a short one', () => {
    expect(maskConfig(loaded(secrets).config)).toMatchObject({
      server: { 'api-keys': ['…6789', '…'] },
      codex: { 'api-key': '…abcd' },
      copilot: { headers: { 'x-gateway-token': '…6789', 'x-plain': 'shown' } },
    })
  })

  test('masks arguments of MCP servers that look like a secret', () => {
    const plain = ['npx', '-y', 'server', '--key-file', '/k.pem', '--auth-mode=none', 'a=b', '--key', '-x']
    const command = [
      ...plain,
      '--api-key=example-0123456789',
      '--token',
      'example-abcdefghij',
      'PASSWORD=short',
      '--key',
    ]
    const { config } = loaded({ file: JSON.stringify({ 'mcp-servers': { it: { command } } }) })
    expect(maskConfig(config)).toMatchObject({
      'mcp-servers': { it: { command: [...plain, '--api-key=…6789', '--token', '…ghij', 'PASSWORD=…', '--key'] } },
    })
    expect(secretValues(config).filter((text) => text !== '')).toEqual([
      'example-0123456789',
      'example-abcdefghij',
      'short',
    ])
  })

  test('leaves a secret that is not set empty', () => {
    expect(maskConfig(loaded().config)).toMatchObject({ server: { 'api-keys': [] }, codex: { 'api-key': '' } })
  })
})

describe('showConfig', () => {
  test('as YAML has the names of the file, each setting with its source', () => {
    const { config, sources } = loaded(secrets)
    const shown = showConfig(config, sources, 'yaml')
    expect(shown.split('\n')).toEqual(
      expect.arrayContaining([
        '  host: 127.0.0.1 # default',
        '  port: 5 # config.yaml:3:9',
        '  api-keys: [ …6789, … ] # config.yaml:2:13',
        '  level: debug # COPILOT_PROXY_LOG_LEVEL',
        '    fast: gpt-5-mini # config.yaml:7:26',
        '    x-github-api-version: 2026-08-01 # default',
        '  hide: [] # default',
      ]),
    )
    expect(parse(shown)).toEqual(maskConfig(config))
  })

  test('as YAML can be read back as a file', () => {
    const { config, sources } = loaded({ file: 'models: {aliases: {"#odd: name": "yes", "5": "~"}}' })
    expect(loaded({ file: showConfig(config, sources, 'yaml') }).config).toEqual(config)
  })

  test('as JSON gives settings and sources', () => {
    const { config, sources } = loaded(secrets)
    expect(JSON.parse(showConfig(config, sources, 'json'))).toMatchObject({
      settings: maskConfig(config),
      sources: { 'server.port': 'config.yaml:3:9', 'log.level': 'COPILOT_PROXY_LOG_LEVEL', 'chat.strict': 'default' },
    })
  })

  test.each(['yaml', 'json'] as const)('as %s holds no secret', (format) => {
    const { config, sources } = loaded(secrets)
    expect(showConfig(config, sources, format)).not.toMatch(/0123|short/)
  })
})
