import { describe, expect, test } from 'vitest'
import { addApiKey, apiKeysOf, removeApiKey } from '../../src/config/api-keys.ts'
import { maskConfig } from '../../src/config/secrets.ts'
import { loaded, refused } from './loading.ts'

const hash = '0123456789abcdef'.repeat(4)

describe('an entry of server.api-keys', () => {
  test.each([`laptop:sha256:${hash}`, `Work.Phone_2:sha256:${hash.toUpperCase()}`, 'plain', 'a:b', 'laptop:sha256'])(
    'can be %j, in the file and in the environment',
    (entry) => {
      expect(loaded({ file: `server: {api-keys: [${JSON.stringify(entry)}]}` }).config.server.apiKeys).toEqual([entry])
      const env = { COPILOT_PROXY_SERVER_API_KEYS: `${entry},another` }
      expect(loaded({ env }).config.server.apiKeys).toEqual([entry, 'another'])
    },
  )

  test.each([
    `laptop:sha256:${hash.slice(1)}`,
    `laptop:sha256:${hash}0`,
    `laptop:sha256:${hash.slice(1)}g`,
    `laptop:SHA-256:${hash}`,
    'laptop:sha256:',
    `sha256:${hash}`,
    `:sha256:${hash}`,
    `my laptop:sha256:${hash}`,
    `-x:sha256:${hash}`,
    `${'n'.repeat(65)}:sha256:${hash}`,
    `plain-1:sha256:${hash}`,
  ])('that is meant as a hash and is none is refused by its place, unrepeated: %s', (entry) => {
    const file = refused({ file: `server:\n  api-keys:\n    - good-key\n    - ${JSON.stringify(entry)}\n` })
    expect(file).toMatch(/^config\.yaml:4:7 {2}server\.api-keys\.1 {2}expected a plain key, or NAME:sha256:/)
    const inEnvironment = refused({ env: { COPILOT_PROXY_SERVER_API_KEYS: entry } })
    expect(inEnvironment).toMatch(/^COPILOT_PROXY_SERVER_API_KEYS {2}server\.api-keys\.0 /)
    for (const text of [file, inEnvironment]) expect(text).not.toMatch(/0123456789abcdef|laptop|nnnn|-x/)
  })

  test('may not have the name of another one, whatever the case', () => {
    const other = 'fedcba9876543210'.repeat(4)
    const message = refused({ file: `server: {api-keys: ["laptop:sha256:${hash}", "Laptop:sha256:${other}"]}` })
    expect(message).toBe('config.yaml:1:103  server.api-keys.1  two keys have the name Laptop')
  })

  test('is shown by its name and the end of its hash', () => {
    const { config } = loaded({ file: `server: {api-keys: ["laptop:sha256:${hash}", plain-key-0123456789]}` })
    expect(maskConfig(config)).toMatchObject({ server: { 'api-keys': ['laptop:sha256:…cdef', '…6789'] } })
  })
})

const entry = `laptop:sha256:${hash}`

/** The lines that an edit adds (+) and removes (-), in order. */
function difference(before: string, after: string | undefined): readonly string[] {
  const old = before.split('\n')
  const lines = (after ?? '').split('\n')
  return [
    ...old.filter((line) => !lines.includes(line)).map((line) => `- ${line}`),
    ...lines.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ]
}

describe('a key is added to a file', () => {
  const rest =
    '# My settings\nserver:\n  # not 4141\n  port: 4242 # free here\n\nlog: {level: info}\nmodels:\n  hide: [b, a]\n'

  test('and everything else stays', () => {
    expect(difference(rest, addApiKey(rest, entry))).toEqual(['+   api-keys:', `+     - ${entry}`])
  })

  test.each([
    ['', `server:\n  api-keys:\n    - ${entry}\n`],
    ['# nothing yet\n', `# nothing yet\n\nserver:\n  api-keys:\n    - ${entry}\n`],
    ['server:\n', `server:\n  api-keys:\n    - ${entry}\n`],
    ['server:\n  # none\n', `server:\n  # none\n  api-keys:\n    - ${entry}\n`],
    ['server:\n  api-keys: []\n', `server:\n  api-keys:\n    - ${entry}\n`],
    ['server:\n  api-keys:\nlog:\n  level: info\n', `server:\n  api-keys:\n    - ${entry}\nlog:\n  level: info\n`],
    ['server: { port: 1 }\n', `server: { port: 1, api-keys: [ ${entry} ] }\n`],
    [
      'server:\n  api-keys:\n    # phone\n    - plain-key # old\n',
      `server:\n  api-keys:\n    # phone\n    - plain-key # old\n    - ${entry}\n`,
    ],
    ['log:\r\n  level: info\r\n', `log:\r\n  level: info\r\nserver:\r\n  api-keys:\r\n    - ${entry}\r\n`],
  ])('%j', (before, after) => {
    expect(addApiKey(before, entry)).toBe(after)
  })

  test.each([
    ['an alias', 'x: &keys [a]\nserver: { api-keys: *keys }\n'],
    ['a list in the place of the section', 'server: [a]\n'],
    ['text in the place of the list', 'server: { api-keys: a }\n'],
    ['a file that is not YAML', 'server: {\n'],
    ['a section that is used twice', 'server: &s\n  api-keys: [a]\nother: *s\n'],
    ['a list as the file', '- a\n'],
  ])('but not where that would touch more, or make no sense: %s', (_what, text) => {
    expect(addApiKey(text, entry)).toBeUndefined()
  })
})

test('a key is removed from a file, with its own comment and nothing else', () => {
  const before = `server:\n  port: 1\n  api-keys:\n    - one\n    - two # second\n    - ${entry}\n`
  expect(apiKeysOf(before)).toEqual(['one', 'two', entry])
  expect(removeApiKey(before, 1)).toBe(`server:\n  port: 1\n  api-keys:\n    - one\n    - ${entry}\n`)
  expect(removeApiKey('server: { api-keys: [a] }\n', 0)).toBe('server: { api-keys: [] }\n')
})
