import { readFileSync } from 'node:fs'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { configSchema, type Config, type SettingKey } from '../../src/config/schema.ts'
import { settingLeaves } from '../../src/config/settings-tree.ts'
import { loaded, refused } from './loading.ts'

const leaves = settingLeaves(configSchema)

describe('the settings as the program reads them', () => {
  test('are camelCase in sections, while tables keep the keys of their entries', () => {
    const { config } = loaded()
    expect(config.server.maxConcurrentRequests).toBe(64)
    expect(config.copilotOauth.githubClientId).toBe('Iv1.b507a08c87ecfe98')
    expect(config.copilot.refreshSafetyMarginSeconds).toBe(60)
    expect(config.copilot.timeouts.connectSeconds).toBe(10)
    expect(config.copilot.headers['copilot-integration-id']).toBe('vscode-chat')
    expect(config.chat.historyWindow).toBe(0)
  })

  test('are typed by the schema', () => {
    expectTypeOf<Config['server']['apiKeys']>().toEqualTypeOf<readonly string[]>()
    expectTypeOf<Config['server']['bodyLimitMb']>().toEqualTypeOf<number>()
    expectTypeOf<Config['copilot']['initiator']>().toEqualTypeOf<'history' | 'last-message'>()
    expectTypeOf<Config['copilot']['headers']>().toEqualTypeOf<Readonly<Record<string, string>>>()
    expectTypeOf<'copilot.timeouts.idle-seconds' | 'copilot.headers'>().toExtend<SettingKey>()
    expectTypeOf<'copilot' | 'server.prot'>().not.toExtend<SettingKey>()
  })

  test('are frozen all the way down', () => {
    const { config } = loaded({ file: 'server: {api-keys: [key-example]}' })
    const parts = [config, config.server, config.server.apiKeys, config.copilot.timeouts, config.copilot.headers]
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([])
  })

  test('of one load are not shared with the next', () => {
    expect(loaded().config.models.aliases).not.toBe(loaded().config.models.aliases)
    expect(loaded().config.server.apiKeys).not.toBe(loaded().config.server.apiKeys)
  })
})

test('every setting has a description', () => {
  expect(leaves.filter(({ description }) => description === '').map(({ key }) => key)).toEqual([])
})

test('describes what 0 or less means', () => {
  const margin = leaves.find(({ key }) => key === 'copilot.refresh-safety-margin-seconds')
  expect(margin?.description).toContain('0 or less: 60')
  expect(readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')).toContain('0 or less: 60')
})

test('keys are the secret settings', () => {
  expect(leaves.filter(({ secret }) => secret).map(({ key }) => key)).toEqual(['server.api-keys', 'codex.api-key'])
})

describe('bounds', () => {
  test.each([
    ['server: {port: 0}'],
    ['server: {port: 65535}'],
    ['server: {body-limit-mb: 0.5}'],
    ['server: {max-queued-requests: 0}'],
    ['server: {shutdown-grace-seconds: 0}'],
    ['server: {allowed-hosts: [proxy.example, "proxy.example:4141", "[::1]:4141"]}'],
    ['server: {allowed-origins: [https://app.example, "http://localhost:5173", vscode-webview://abc]}'],
    ['log: {level: silent, format: json, bodies: true}'],
    ['copilot: {initiator: last-message, upstream-dialect: chat}'],
    ['copilot: {base-url: "http://127.0.0.1:8080/x"}'],
    ['copilot: {base-url: "http://[::1]:8080"}'],
    ['codex: {base-url: "http://localhost:1"}'],
    ['models: {aliases: {gpt-4.1: gpt-5, "a b": c}, hide: [gpt-4]}'],
    ['models: {aliases: {claude-*: claude-haiku-4.5, gpt-4.1: [copilot/gpt-4.1, gpt-5-mini]}}'],
    ['chat: {history-window: 20, strict: true}'],
  ])('accept %s', (file) => {
    expect(loaded({ file }).config).toBeDefined()
  })

  const url = 'expected a URL such as https://host.example'
  const secure = 'expected https: http is accepted for this machine only (127.0.0.1, [::1], localhost)'
  test.each([
    ['server: {port: -1}', 'server.port  expected a whole number from 0 to 65535, got -1'],
    ['server: {port: 65536}', 'server.port  expected a whole number from 0 to 65535, got 65536'],
    ['server: {port: 80.5}', 'server.port  expected a whole number from 0 to 65535, got 80.5'],
    ['server: {port: .nan}', 'server.port  expected a whole number from 0 to 65535, got NaN'],
    ['server: {port: "4141"}', 'server.port  expected a whole number from 0 to 65535, got "4141"'],
    ['server: {port: }', 'server.port  expected a whole number from 0 to 65535, got no value'],
    ['server: {port: [1]}', 'server.port  expected a whole number from 0 to 65535, got a list'],
    ['server: {port: {a: 1}}', 'server.port  expected a whole number from 0 to 65535, got a table'],
    ['server: {host: "a b"}', 'server.host  expected a host name or an IP address'],
    ['server: {body-limit-mb: 0}', 'server.body-limit-mb  expected a number above 0 and up to 512, got 0'],
    ['server: {max-concurrent-requests: 0}', 'expected a whole number from 1 to 100000, got 0'],
    ['server: {shutdown-grace-seconds: -1}', 'expected a number from 0 to 86400, got -1'],
    ['server: {allowed-hosts: [http://a.example]}', 'expected a host such as proxy.example or proxy.example:4141'],
    ['server: {allowed-hosts: ["*"]}', 'expected a host such as proxy.example or proxy.example:4141'],
    [
      'server: {allowed-origins: [https://a.example/]}',
      'expected an origin such as https://app.example, without a path',
    ],
    ['server: {allowed-origins: ["*"]}', 'expected an origin such as https://app.example, without a path'],
    ['log: {level: loud}', 'log.level  expected one of trace, debug, info, warn, error, silent, got "loud"'],
    ['log: {bodies: yes}', 'log.bodies  expected true or false, got "yes"'],
    ['log: [1]', 'log  expected KEY: VALUE pairs, got a list'],
    ['copilot: {initiator: user}', 'copilot.initiator  expected one of history, last-message, got "user"'],
    ['copilot: {upstream-dialect: responses}', 'expected one of auto, chat, got "responses"'],
    ['copilot: {base-url: 5}', 'copilot.base-url  expected a URL, got 5'],
    ['copilot: {base-url: example.com}', url],
    ['copilot: {base-url: "https://a b"}', url],
    ['copilot: {base-url: "https:a.example"}', url],
    ['copilot: {base-url: "ftp://a.example"}', url],
    ['copilot: {base-url: "http://api.example"}', secure],
    ['copilot: {base-url: "http://localhost.example"}', secure],
    ['copilot: {base-url: "http://127.0.0.1.example"}', secure],
    ['copilot: {base-url: "http://0.0.0.0"}', secure],
    ['copilot: {base-url: "https://u:p@a.example"}', 'expected a URL without user name and password'],
    ['copilot: {base-url: "https://a.example?b=c"}', 'expected a URL without query and fragment'],
    ['copilot: {base-url: "https://a.example#"}', 'expected a URL without query and fragment'],
    ['codex: {base-url: ""}', `codex.base-url  ${url}`],
    ['codex: {api-base-url: "http://a.example"}', `codex.api-base-url  ${secure}`],
    ['codex: {issuer: "http://a.example"}', `codex.issuer  ${secure}`],
    ['copilot-oauth: {auth-url: "http://a.example"}', `copilot-oauth.auth-url  ${secure}`],
    ['copilot-oauth: {token-url: "http://a.example"}', `copilot-oauth.token-url  ${secure}`],
    ['copilot-oauth: {github-base-url: "http://a.example"}', `copilot-oauth.github-base-url  ${secure}`],
    ['copilot-oauth: {github-api-base-url: "http://a.example"}', `copilot-oauth.github-api-base-url  ${secure}`],
    ['copilot-oauth: {redirect-port: 99999}', 'expected a whole number from 0 to 65535, got 99999'],
    ['copilot: {timeouts: {idle-seconds: 0}}', 'copilot.timeouts.idle-seconds  expected a number above 0'],
    ['copilot: {timeouts: {idle-seconds: .inf}}', 'copilot.timeouts.idle-seconds  expected a number above 0'],
    ['models: {aliases: {a: 5}}', 'models.aliases.a  expected text (put numbers in quotes), got 5'],
    ['models: {aliases: {a: ""}}', 'models.aliases.a  expected non-empty text, got ""'],
    ['models: {aliases: {a: a}}', 'config.yaml:1:23  models.aliases.a  an alias cannot be its own target'],
    ['models: {aliases: {"a b": " a b "}}', 'models.aliases.a b  an alias cannot be its own target'],
    ['models: {hide: [4]}', 'models.hide.0  expected text (put numbers in quotes), got 4'],
    ['server: {api-keys: [1234, a]}', 'config.yaml:1:21  server.api-keys.0  expected text (put numbers in quotes)'],
    ['server: {api-keys: [null]}', 'server.api-keys.0  expected text'],
    ['copilot-oauth: {client-id: 5}', 'copilot-oauth.client-id  expected text (put numbers in quotes), got 5'],
    ['models: {aliases: {a: b, b: c}}', 'models.aliases.a  the target "b" is another alias; use the name of a model'],
    ['models: {aliases: {a: [c, b], b: c}}', 'config.yaml:1:27  models.aliases.a.1  the target "b" is another alias'],
    ['models: {aliases: {a: "b*"}}', 'models.aliases.a  the target "b*" must be a model name without *'],
    ['models: {aliases: {a: []}}', 'models.aliases.a  expected at least one model, got an empty list'],
    [
      'models: {aliases: {a: [5]}}',
      'models.aliases.a  expected a list of model names (put numbers in quotes), got a list',
    ],
    ['models: {aliases: {a: {b: c}}}', 'models.aliases.a  expected text, got a table'],
    ['models: {aliases: [a]}', 'models.aliases  expected a table of aliases and their models, got a list'],
    ['chat: {history-window: -1}', 'chat.history-window  expected a whole number from 0 to 1000000, got -1'],
  ])('refuse %s', (file, message) => {
    expect(refused({ file })).toContain(message)
  })

  test('base URLs lose their trailing slashes', () => {
    const { config } = loaded({
      file: 'copilot: {base-url: "https://api.githubcopilot.com//"}\ncodex: {issuer: "https://auth.openai.com/"}',
    })
    expect([config.copilot.baseUrl, config.codex.issuer]).toEqual([
      'https://api.githubcopilot.com',
      'https://auth.openai.com',
    ])
  })
})

describe('copilot.base-url', () => {
  const elsewhere = 'copilot.base-url  expected githubcopilot.com'

  test.each([
    'https://api.githubcopilot.com',
    'https://copilot-proxy.githubusercontent.com/x',
    'https://copilot-api.octo.ghe.com',
    'https://copilot.api.github.com',
    'https://127.0.0.1',
    'http://localhost:4199/backend-api/codex',
  ])('may be %s', (url) => {
    expect(loaded({ file: `copilot: {base-url: "${url}"}` }).config.copilot.baseUrl).toBe(url)
  })

  test.each([
    'https://evil.example.com',
    'https://githubcopilot.com.evil.example',
    'https://evilgithubcopilot.com',
    'https://api.githubcopilot.com:8443',
    'https://203.0.113.7',
    'https://evil.example/backend-api/codex',
  ])('may not be %s, where a token is never sent', (url) => {
    expect(refused({ file: `log: {}\ncopilot:\n  base-url: ${url}` })).toContain(`config.yaml:3:13  ${elsewhere}`)
  })

  test('may be on a GitHub host of copilot-oauth', () => {
    const file = 'copilot: {base-url: "https://copilot.git.corp.example"}'
    const oauth = 'copilot-oauth: {github-base-url: "https://git.corp.example"}'
    expect(refused({ file })).toContain(elsewhere)
    expect(loaded({ file: `${file}\n${oauth}` }).config.copilot.baseUrl).toBe('https://copilot.git.corp.example')
  })

  test('is judged whatever else is wrong, and not by a host that is wrong itself', () => {
    const file = 'log: {level: loud}\ncopilot: {base-url: "https://evil.example", initator: user}'
    expect(refused({ file }).split('\n')).toEqual([
      expect.stringContaining('log.level'),
      expect.stringContaining(elsewhere),
      expect.stringContaining('unknown key `initator`'),
    ])
    expect(refused({ file: `${file}\ncopilot-oauth: {github-base-url: 5}` })).not.toContain(elsewhere)
    expect(refused({ env: { COPILOT_PROXY_COPILOT_BASE_URL: 'https://evil.example' } })).toBe(
      `COPILOT_PROXY_COPILOT_BASE_URL  ${elsewhere}, githubusercontent.com, ghe.com, a GitHub host of copilot-oauth, a subdomain of one of these (https, no port), or this machine; Copilot tokens must not be sent to other hosts`,
    )
  })
})

test('a relative path of a workspace is refused with the forms that are accepted', () => {
  expect(refused({ file: 'workspaces: [code/app]' })).toContain(
    'workspaces.0  expected an absolute path, a path that starts with ~/, or a table with path, name, read-only and allow-home, got "code/app"',
  )
})

describe('copilot.headers', () => {
  test('are laid over the defaults; an empty or null entry removes one', () => {
    const { config } = loaded({
      file: 'copilot: {headers: {user-agent: mine/1, editor-version: "", openai-intent: null, x-extra: "1"}}',
    })
    expect(config.copilot.headers).toEqual({
      'user-agent': 'mine/1',
      'editor-plugin-version': 'copilot-chat/0.54.0',
      'copilot-integration-id': 'vscode-chat',
      'x-interaction-type': 'auto',
      'x-interaction-id': 'auto',
      'x-agent-task-id': 'auto',
      'x-github-api-version': '2026-08-01',
      'x-vscode-user-agent-library-version': 'electron-fetch',
      'x-extra': '1',
    })
  })

  test('have the same name in upper and lower case, whichever source they come from', () => {
    const { config, sources } = loaded({
      file: 'copilot: {headers: {User-Agent: mine/1, X-Extra: "1", Editor-Version: ""}}',
      env: { COPILOT_PROXY_COPILOT_HEADERS: '{X-EXTRA: "2"}', COPILOT_PROXY_COPILOT_HEADERS_X_MORE: '3' },
    })
    expect(config.copilot.headers).toMatchObject({ 'user-agent': 'mine/1', 'x-extra': '2', 'x-more': '3' })
    expect(Object.keys(config.copilot.headers).filter((name) => /[A-Z]|^editor-version/.test(name))).toEqual([])
    expect(sources['copilot.headers.user-agent']).toMatchObject({ kind: 'file', line: 1 })
    expect(sources['copilot.headers.x-extra']).toEqual({ kind: 'environment', name: 'COPILOT_PROXY_COPILOT_HEADERS' })
  })

  test.each([
    ['"a b": x', 'expected a header name'],
    ['"": x', 'expected a header name'],
    ['user-agent: x, User-Agent: y', 'config.yaml:1:36  copilot.headers.User-Agent  this header appears twice'],
    ['X-A: x, X-a: y', 'config.yaml:1:29  copilot.headers.X-a  this header appears twice'],
    ['Authorization: x', 'config.yaml:1:21  copilot.headers.authorization  copilot-proxy sets this header itself'],
    ['X-A: 5', 'config.yaml:1:26  copilot.headers.x-a  expected text (put numbers in quotes), got 5'],
    ['authorization: x', 'copilot.headers.authorization  copilot-proxy sets this header itself'],
    ['x-initiator: user', 'copilot.headers.x-initiator  copilot-proxy sets this header itself'],
    ['x-a: "b\\r\\nx-c: d"', 'copilot.headers.x-a  expected a valid header value'],
    ['x-a: "b\\0"', 'expected a valid header value'],
    ['x-a: " b"', 'expected a valid header value'],
    ['x-a: "\\u4e2d"', 'expected a valid header value'],
    ['x-a: 5', 'copilot.headers.x-a  expected text (put numbers in quotes), got 5'],
  ])('refuse {%s}', (entry, message) => {
    expect(refused({ file: `copilot: {headers: {${entry}}}` })).toContain(message)
  })
})

describe('listening beyond this machine', () => {
  const hosts = ['0.0.0.0', '::', '[::]', '0', '0x0', '', '::ffff:0.0.0.0', '192.168.1.5', 'workstation', '0.0.0.0.']
  test.each(hosts)('at %j is refused without keys, naming the command that makes one', (host) => {
    const message = refused({ file: `server: {host: ${JSON.stringify(host)}}` })
    expect(message).toContain('config.yaml:1:16  server.host')
    expect(message).toContain('copilot-proxy key add NAME')
    expect(message).toContain('`server.host`')
  })

  test.each(hosts)('at %j is accepted with a key', (host) => {
    const file = `server: {host: ${JSON.stringify(host)}, api-keys: [key-example]}`
    expect(loaded({ file }).config.server.apiKeys).toEqual(['key-example'])
  })

  test.each(['localhost', '127.0.0.1', '127.8.8.8', '::1', '[::1]', '::ffff:127.0.0.1'])(
    'is not what %j does: no key needed',
    (host) => {
      expect(loaded({ file: `server: {host: "${host}"}` }).config.server.apiKeys).toEqual([])
    },
  )

  test('binds the address that was judged, in its plain spelling', () => {
    const bound = ['0x0', '', '[::1]', '127.1'].map(
      (host) => loaded({ file: `server: {host: "${host}", api-keys: [key-example]}` }).config.server.host,
    )
    expect(bound).toEqual(['0.0.0.0', '0.0.0.0', '::1', '127.0.0.1'])
  })
})
