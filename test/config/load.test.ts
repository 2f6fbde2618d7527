import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import type { Flag } from '../../src/config/load.ts'
import { formatSource } from '../../src/config/problem.ts'
import { load, loaded, refused } from './loading.ts'

const portFlag = (text: string): Flag => ({ name: '--port', key: 'server.port', text })

describe('precedence', () => {
  const file = 'server: {port: 2}'
  const env = { COPILOT_PROXY_SERVER_PORT: '3' }
  test.each([
    ['the default', {}, 4141, 'default'],
    ['the file', { file }, 2, 'config.yaml:1:16'],
    ['the environment', { file, env }, 3, 'COPILOT_PROXY_SERVER_PORT'],
    ['a flag', { file, env, flags: [portFlag('4')] }, 4, '--port'],
  ])('%s counts when nothing stronger is given, and is named as the source', (_, given, port, source) => {
    const { config, sources } = loaded(given)
    expect(config.server.port).toBe(port)
    expect(sources['server.port'] && formatSource(sources['server.port'])).toBe(source)
  })

  test('tables are laid over each other entry by entry, each entry with its own source', () => {
    const { config, sources } = loaded({
      file: 'copilot:\n  headers:\n    user-agent: file/1\n    x-file: "1"',
      env: {
        COPILOT_PROXY_COPILOT_HEADERS: '{"user-agent": "env/1", "x-env": "2", "openai-intent": null}',
        COPILOT_PROXY_COPILOT_HEADERS_X_ENV: '3',
      },
    })
    expect(config.copilot.headers).toMatchObject({ 'user-agent': 'env/1', 'x-file': '1', 'x-env': '3' })
    expect(config.copilot.headers).not.toHaveProperty('openai-intent')
    const named = Object.entries(sources).filter(([key]) => key.startsWith('copilot.headers.'))
    expect(Object.fromEntries(named.map(([key, source]) => [key.slice(16), formatSource(source)]))).toMatchObject({
      'user-agent': 'COPILOT_PROXY_COPILOT_HEADERS',
      'x-file': 'config.yaml:4:13',
      'x-env': 'COPILOT_PROXY_COPILOT_HEADERS_X_ENV',
      'editor-version': 'default',
    })
  })

  test('lists replace each other', () => {
    const { config } = loaded({
      file: 'models: {hide: [a, b]}',
      env: { COPILOT_PROXY_MODELS_HIDE: 'c' },
    })
    expect(config.models.hide).toEqual(['c'])
  })

  test('every setting has a source', () => {
    expect(new Set(Object.values(loaded().sources).map(({ kind }) => kind))).toEqual(new Set(['default']))
    expect(Object.keys(loaded().sources)).toContain('models.aliases')
  })
})

describe('an empty file', () => {
  test.each([
    '',
    '\n',
    '# nothing',
    '---\n',
    '{}',
    'null',
    'server:\nlog:',
    'server:\n  api-keys:\ncopilot:\n  headers:',
  ])('%j means the defaults', (file) => {
    expect(loaded({ file }).config).toEqual(loaded().config)
  })
})

describe('an unknown key', () => {
  test.each([
    ['server:\n  prot: 1', 'config.yaml:2:3  server.prot  unknown key `prot`, did you mean `port`?'],
    ['server: {api_keys: [a]}', 'server.api_keys  unknown key `api_keys`, did you mean `api-keys`?'],
    ['server: {apiKeys: [a]}', 'unknown key `apiKeys`, did you mean `api-keys`?'],
    ['port: 1', 'config.yaml:1:1  port  unknown key `port`, did you mean `server.port`?'],
    ['copilot_oauth: {}', 'unknown key `copilot_oauth`, did you mean `copilot-oauth`?'],
    [
      'copilot: {timeouts: {idle-second: 1}}',
      'copilot.timeouts.idle-second  unknown key `idle-second`, did you mean `idle-seconds`?',
    ],
    ['chat: {wholly-different: 1}', 'config.yaml:1:8  chat.wholly-different  unknown key `wholly-different`'],
    ['constructor: 1', 'unknown key `constructor`'],
    ['log: {__proto__: {level: info}}', 'config.yaml:1:7  __proto__  this key is not allowed'],
    ['models: {aliases: {__proto__: a}}', 'config.yaml:1:20  __proto__  this key is not allowed'],
  ])('in %j is a fault with its place and, where there is one, the key that was meant', (file, message) => {
    expect(
      refused({ file })
        .split('\n')
        .filter((line) => line.endsWith(message)),
    ).toHaveLength(1)
  })
})

describe('faults', () => {
  test('are reported all at once: flags, environment, then the file from top to bottom', () => {
    const message = refused({
      file: 'chat:\n  strict: 1\nlog:\n  formt: json\n  level: 2\n',
      env: { COPILOT_PROXY_LOG_BODIES: 'maybe', COPILOT_PROXY_LOG_FROMAT: 'json' },
      flags: [portFlag('abc')],
    })
    expect(message.split('\n')).toEqual([
      '--port  server.port  expected a whole number from 0 to 65535, got "abc"',
      'COPILOT_PROXY_LOG_FROMAT  unknown variable, did you mean COPILOT_PROXY_LOG_FORMAT?',
      'COPILOT_PROXY_LOG_BODIES  log.bodies  expected true or false, got "maybe"',
      'config.yaml:2:11  chat.strict  expected true or false, got 1',
      'config.yaml:4:3  log.formt  unknown key `formt`, did you mean `format`?',
      'config.yaml:5:10  log.level  expected one of trace, debug, info, warn, error, silent, got 2',
    ])
  })

  test('name each place once', () => {
    expect(refused({ file: 'server: {port: -1.5}' }).split('\n')).toHaveLength(1)
  })

  test('of a value given through an alias point at the value', () => {
    expect(refused({ file: 'server: &s\n  port: x\nlog: *s' })).toContain('config.yaml:2:9  server.port')
  })

  test('of the host setting name the flag or variable it came from', () => {
    expect(refused({ env: { COPILOT_PROXY_SERVER_HOST: '0.0.0.0' } })).toMatch(
      /^COPILOT_PROXY_SERVER_HOST  server\.host/,
    )
    expect(refused({ flags: [{ name: '--host', key: 'server.host', text: '::' }] })).toMatch(/^--host  server\.host/)
  })

  test('never repeat a secret', () => {
    const secret = 'sk-example-5150'
    const messages = [
      refused({ file: `server: {api-keys: ${secret}}` }),
      refused({ file: `server: {api-keys: [[${secret}]]}` }),
      refused({ file: 'server: {api-keys: [5150]}\ncodex: {api-key: 5150}' }),
      refused({ file: `codex: {api-key: {a: ${secret}}}` }),
      refused({ file: `codex: {api-key: "${secret}}` }),
      refused({ file: `codex:\n  api-key: *${secret}` }),
      refused({ file: `codex:\n  api-key: !${secret}` }),
      refused({ file: `codex:\n  api-key: >${secret}` }),
      refused({ file: `copilot: {headers: {x-key: "${secret}\\n"}}` }),
      refused({ file: `copilot: {base-url: "https://user:${secret}@a.example"}` }),
      refused({ file: `copilot: {base-url: "https://a.example?key=${secret}"}` }),
      refused({ file: `log: {level: "https://user:${secret}@a.example?key=${secret}"}` }),
      refused({ env: { COPILOT_PROXY_SERVER_API_KEYS: `["${secret}", null]` } }),
    ]
    expect(messages.filter((message) => message.includes('5150'))).toEqual([])
  })

  test('are cut off where nobody would read on', () => {
    const many = Array.from({ length: 1000 }, (_, i) => `k${i}`)
    expect(refused({ file: JSON.stringify(Object.fromEntries(many.map((key) => [key, 1]))) }).split('\n')).toHaveLength(
      50,
    )
    expect(refused({ file: JSON.stringify({ models: { hide: many.map(() => 5) } }) }).split('\n')).toHaveLength(50)
  })

  test('shorten a long value', () => {
    expect(refused({ file: `log: {level: ${'x'.repeat(500)}}` }).length).toBeLessThan(200)
  })
})

describe('syntax', () => {
  test.each([
    ['a tab', 'server:\n\tport: 1', 'config.yaml:2:1  indented with a tab; use spaces'],
    ['a key given twice', 'log: {}\nserver: {}\nlog: {}', 'config.yaml:3:1  log  duplicate key'],
    ['a nested key given twice', 'server:\n  port: 1\n  port: 2', 'config.yaml:3:3  port  duplicate key'],
    ['an open bracket', 'server: {port: 1\n', 'config.yaml:2:1  wrong indentation'],
    ['an open quote', 'log: {level: "info}\n', 'missing character'],
    ['a second document', 'log: {}\n---\nlog: {}', 'a second document starts here'],
    ['an alias of nothing', 'log: *nothing', 'config.yaml:1:6  this alias (*name) has no anchor before it'],
    ['a tag', 'log: {level: !custom info}', 'tags (!name) are not supported'],
    ['a list at the top', '- log', 'config.yaml:1:1  expected KEY: VALUE pairs, got a list'],
    ['a text at the top', 'port 5', 'config.yaml:1:1  expected KEY: VALUE pairs, got "port 5"'],
    ['a merge key', '<<: {log: {}}', 'config.yaml:1:1  <<  unknown key `<<`'],
    ['a key that is a list', '? [a]\n: 1', 'config.yaml:1:3  a key must be plain text'],
    ['bad indentation', 'server:\n  port: 1\n host: a', 'config.yaml:3:1  wrong indentation'],
  ])('F06 %s is a fault with its line', (_, file, message) => {
    expect(refused({ file })).toContain(message)
  })

  test('Windows line ends and a YAML 1.1 directive change nothing', () => {
    expect(loaded({ file: 'server:\r\n  port: 5\r\n' }).config.server.port).toBe(5)
    expect(refused({ file: '%YAML 1.1\n---\nlog: {bodies: yes}' })).toContain('got "yes"')
  })
})

describe('a hostile file', () => {
  const bomb = Array.from({ length: 40 }, (_, level) => {
    const reference = level === 0 ? 'x' : `*k${level - 1}`
    return `k${level}: &k${level} [${Array.from({ length: 9 }, () => reference).join(', ')}]`
  }).join('\n')
  const wideBomb = `a: &a {${Array.from({ length: 1000 }, (_, i) => `k${i}: x`).join(', ')}}\n`

  test.each([
    ['aliases of aliases', bomb, 'more than 100 aliases'],
    ['few but multiplying aliases', bomb.split('\n').slice(0, 11).join('\n'), 'too many aliases or nested values'],
    [
      'thousands of aliases',
      `a: &a x\n${Array.from({ length: 6000 }, (_, i) => `k${i}: *a`).join('\n')}`,
      'more than 100 aliases',
    ],
    ['a circular alias', 'log: &a {level: *a}', 'expected one of trace'],
    ['60,000 levels', '['.repeat(60_000), 'too deeply nested'],
    ['300 levels', `log: ${'['.repeat(300)}${']'.repeat(300)}`, 'expected KEY: VALUE pairs, got a list'],
    ['6,000 keys', Array.from({ length: 6000 }, (_, i) => `k${i}: 1`).join('\n'), 'unknown key `k1`'],
    [
      'a wide table through aliases',
      `${wideBomb}${Array.from({ length: 90 }, (_, i) => `l${i}: *a`).join('\n')}`,
      'unknown key `a`',
    ],
  ])('F06 with %s is refused within seconds', { timeout: 10_000 }, (_, file, message) => {
    expect(refused({ file })).toContain(message)
  })

  test('of any JSON value gives settings or faults, and never throws', () => {
    const key = fc.oneof(
      fc.constantFrom(
        'server',
        'log',
        'copilot',
        'copilot-oauth',
        'models',
        'port',
        'headers',
        'aliases',
        '__proto__',
        'constructor',
      ),
      fc.string(),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        const result = load({ file: JSON.stringify(value) })
        expect(result.ok || result.error.problems.length > 0).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('of any text gives settings or faults, and never throws', () => {
    const piece = fc.constantFrom(
      'server',
      ': ',
      '\n',
      '  ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '!t',
      '"',
      "'",
      '|',
      '%',
      '#',
      '\t',
      'x',
      '---',
      '? ',
      '1',
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 30 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (file) => {
        const result = load({ file })
        expect(result.ok || result.error.problems.length > 0).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})
