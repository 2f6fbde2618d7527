import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { variableName } from '../../src/config/environment.ts'
import { configSchema } from '../../src/config/schema.ts'
import { settingLeaves } from '../../src/config/settings-tree.ts'
import { load, loaded, refused } from './loading.ts'

describe('variable names', () => {
  test.each([
    ['server.port', 'COPILOT_PROXY_SERVER_PORT'],
    ['server.api-keys', 'COPILOT_PROXY_SERVER_API_KEYS'],
    ['copilot-oauth.github-client-id', 'COPILOT_PROXY_COPILOT_OAUTH_GITHUB_CLIENT_ID'],
    ['copilot.timeouts.connect-seconds', 'COPILOT_PROXY_COPILOT_TIMEOUTS_CONNECT_SECONDS'],
  ])('of %s is %s', (key, name) => {
    expect(variableName(key.split('.'))).toBe(name)
  })

  test('are different for all settings', () => {
    const names = settingLeaves(configSchema).map(({ path }) => variableName(path))
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('values are typed by the setting', () => {
  test.each([
    ['SERVER_PORT', '5', 'server.port', 5],
    ['SERVER_BODY_LIMIT_MB', ' 0.5 ', 'server.bodyLimitMb', 0.5],
    ['LOG_BODIES', 'True', 'log.bodies', true],
    ['CHAT_STRICT', 'false', 'chat.strict', false],
    ['CODEX_API_KEY', '123', 'codex.apiKey', '123'],
    ['CODEX_API_KEY', '', 'codex.apiKey', ''],
    ['COPILOT_OAUTH_GITHUB_CLIENT_ID', 'true', 'copilotOauth.githubClientId', 'true'],
    ['COPILOT_OAUTH_GITHUB_SCOPE', '', 'copilotOauth.githubScope', 'read:user'],
    ['COPILOT_TIMEOUTS_CONNECT_SECONDS', '7', 'copilot.timeouts.connectSeconds', 7],
    ['SERVER_API_KEYS', 'key-a, 123,,', 'server.apiKeys', ['key-a', '123']],
    ['SERVER_API_KEYS', '["key,a", 123]', 'server.apiKeys', ['key,a', '123']],
    ['SERVER_API_KEYS', '', 'server.apiKeys', []],
    ['MODELS_ALIASES', '{fast: gpt-5-mini, "4": 5}', 'models.aliases', { fast: 'gpt-5-mini', '4': '5' }],
    ['MODELS_ALIASES', '{"fast":"gpt-5-mini"}', 'models.aliases', { fast: 'gpt-5-mini' }],
    ['MODELS_ALIASES', '', 'models.aliases', {}],
    ['MODELS_ALIASES_FAST', 'gpt-5-mini', 'models.aliases', { fast: 'gpt-5-mini' }],
  ])('COPILOT_PROXY_%s=%j', (name, text, key, value) => {
    expect(loaded({ env: { [`COPILOT_PROXY_${name}`]: text } }).config).toHaveProperty(key, value)
  })

  test('one header is set by its name', () => {
    const { config } = loaded({ env: { COPILOT_PROXY_COPILOT_HEADERS_USER_AGENT: 'mine/1' } })
    expect(config.copilot.headers['user-agent']).toBe('mine/1')
  })

  test.each([
    ['SERVER_PORT', ' ', 'server.port  expected a whole number from 0 to 65535, got " "'],
    ['SERVER_PORT', '0x', 'server.port  expected a whole number from 0 to 65535, got "0x"'],
    ['LOG_BODIES', '1', 'log.bodies  expected true or false, got "1"'],
    ['MODELS_ALIASES', 'a', 'models.aliases  expected a table of aliases and their models, got "a"'],
    ['MODELS_ALIASES', '{a: b', 'models.aliases  expected a table of aliases and their models, got "{a: b"'],
    ['MODELS_ALIASES', '{__proto__: b}', 'models.aliases  expected a table of aliases and their models'],
    ['MODELS_HIDE', '[a', 'models.hide  expected a list of model names, got "[a"'],
    ['MODELS_HIDE', '[&a [*a]]', 'models.hide  expected a list of model names'],
  ])('COPILOT_PROXY_%s=%j is a fault that names the variable', (name, text, message) => {
    expect(refused({ env: { [`COPILOT_PROXY_${name}`]: text } })).toContain(`COPILOT_PROXY_${name}  ${message}`)
  })
})

test.each(['0x10', '1e3', '+80', '8_0', '80.', '.5', '\u0668\u0660', '9'.repeat(400)])(
  'a number in plain decimal notation is expected, not %s',
  (text) => {
    const message = 'server.port  expected a whole number from 0 to 65535, got '
    expect(refused({ env: { COPILOT_PROXY_SERVER_PORT: text } })).toContain(message)
    expect(refused({ flags: [{ name: '--port', key: 'server.port', text }] })).toContain(message)
  },
)

test('an empty variable counts as not set, whatever it names', () => {
  const file = 'server: {port: 5, api-keys: [key-example]}\nmodels: {aliases: {a: b}}'
  const names = ['SERVER_PORT', 'SERVER_API_KEYS', 'MODELS_ALIASES', 'COPILOT_HEADERS_USER_AGENT', 'LOG_BODIES', 'NONE']
  const env = Object.fromEntries(names.map((name) => [`COPILOT_PROXY_${name}`, '']))
  expect(loaded({ file, env })).toEqual(loaded({ file }))
})

describe('what Kubernetes sets beside a service called copilot-proxy', () => {
  test('is left alone', () => {
    const env = {
      COPILOT_PROXY_SERVICE_HOST: '10.96.0.12',
      COPILOT_PROXY_SERVICE_PORT: '4141',
      COPILOT_PROXY_SERVICE_PORT_HTTP: '4141',
      COPILOT_PROXY_PORT: 'tcp://10.96.0.12:4141',
      COPILOT_PROXY_PORT_4141_TCP: 'tcp://10.96.0.12:4141',
      COPILOT_PROXY_PORT_4141_TCP_PROTO: 'tcp',
      COPILOT_PROXY_PORT_4141_TCP_PORT: '4141',
      COPILOT_PROXY_PORT_4141_TCP_ADDR: '10.96.0.12',
    }
    expect(loaded({ env })).toEqual(loaded())
    expect(loaded({ env: { COPILOT_PROXY_PORT: 'tcp://[fd00::1]:4141' } })).toEqual(loaded())
  })

  test.each([
    ['COPILOT_PROXY_PORT', '4141'],
    ['COPILOT_PROXY_PORT', 'http://10.96.0.12:4141'],
    ['COPILOT_PROXY_SERVICE', 'x'],
    ['COPILOT_PROXY_SERVICE_HOSTS', 'x'],
    ['COPILOT_PROXY_PORT_TCP', 'x'],
    ['COPILOT_PROXY_PORT_4141_TCP_NAME', 'x'],
  ])('is not %s=%s', (name, text) => {
    expect(refused({ env: { [name]: text } })).toContain(`${name}  unknown variable`)
  })
})

describe('a variable that names no setting', () => {
  test.each([
    ['COPILOT_PROXY_SERVER_PROT', 'COPILOT_PROXY_SERVER_PORT'],
    ['COPILOT_PROXY_SERVER_API_KEY', 'COPILOT_PROXY_SERVER_API_KEYS'],
    ['COPILOT_PROXY_PORT', 'COPILOT_PROXY_SERVER_PORT'],
    ['COPILOT_PROXY_HOMES', 'COPILOT_PROXY_HOME'],
  ])('%s is a fault that suggests %s', (name, meant) => {
    expect(refused({ env: { [name]: '1' } })).toBe(`${name}  unknown variable, did you mean ${meant}?`)
  })

  test.each(['COPILOT_PROXY_SERVER', 'COPILOT_PROXY_', 'COPILOT_PROXY_COPILOT_HEADERS_'])('%s is a fault', (name) => {
    expect(refused({ env: { [name]: '1' } })).toContain(`${name}  unknown variable`)
  })

  test('is left alone when it is not ours, and so is the one that says where files are', () => {
    const env = { COPILOT_GITHUB_TOKEN: 'ghu_example', COPILOT_PROXYX: '1', COPILOT_PROXY_HOME: '/srv', PATH: '/bin' }
    expect(loaded({ env }).config).toEqual(loaded().config)
  })
})

test('any environment gives settings or faults, and never throws', () => {
  const names = settingLeaves(configSchema).map(({ path }) => variableName(path))
  const name = fc.oneof(
    fc.constantFrom(...names),
    fc.string().map((end) => `COPILOT_PROXY_${end}`),
  )
  const text = fc.oneof(fc.string(), fc.json(), fc.constantFrom('{__proto__: 1}', '[&a [*a]]', '['.repeat(5000)))
  fc.assert(
    fc.property(fc.dictionary(name, text, { maxKeys: 3 }), (env) => {
      const result = load({ env })
      expect(result.ok || result.error.problems.length > 0).toBe(true)
    }),
  )
})
