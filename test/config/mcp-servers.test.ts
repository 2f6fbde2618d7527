import { describe, expect, test } from 'vitest'
import { maskConfig, secretValues } from '../../src/config/secrets.ts'
import { loaded } from './loading.ts'

const file = (servers: object): string => JSON.stringify({ 'mcp-servers': servers })

test('servers can be programs and addresses', () => {
  const servers = {
    git: { command: ['uvx', 'mcp-server-git'], env: { TOKEN: 'token-example-0123456789' }, cwd: '/work' },
    docs: { url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer example-0123456789' }, prefix: 'd' },
  }
  const { config } = loaded({ file: file(servers) })
  expect(config.mcpServers).toEqual(servers)
  expect(maskConfig(config)).toMatchObject({
    'mcp-servers': { git: { env: { TOKEN: '…6789' } }, docs: { headers: { Authorization: '…6789' } } },
  })
  expect(secretValues(config)).toEqual(
    expect.arrayContaining(['token-example-0123456789', 'Bearer example-0123456789']),
  )
})

describe('an error says what is wrong', () => {
  test.each([
    [{ a: {} }, 'expected either command or url'],
    [{ a: { command: ['x'], url: 'https://x.example' } }, 'expected either command or url'],
    [{ a: { command: ['./x'] } }, 'expected the name of a program, or an absolute path first'],
    [{ a: { command: ['x'], headers: { b: 'c' } } }, 'only a server with a url has this setting'],
    [{ a: { url: 'https://x.example', env: { B: 'c' } } }, 'only a server with a command has this setting'],
    [{ a: { url: 'http://x.example' } }, 'http is accepted for this machine only'],
    [{ a: { command: ['x'], prefix: 'fs' } }, 'names of copilot-proxy’s own tools start with "fs"'],
    [{ a: { command: ['x'] }, b: { command: ['x'], prefix: 'a' } }, 'the server "a" has the prefix "a" too'],
    [{ 'a b': { command: ['x'] } }, 'expected a name of 1 to 24 letters'],
  ])('%j', (servers, message) => {
    expect(() => loaded({ file: file(servers) })).toThrow(message)
  })
})

test('a variable whose value is an ordinary word, number, path or address is no secret', () => {
  const env = {
    NODE_ENV: 'production',
    PORT: '12345678',
    DATA_DIR: '/var/lib/data',
    SERVICE: 'https://service.example/api',
    DB_PASS: 'correcthorse',
    API_KEY: '1234567890',
    DATABASE_URL: 'postgres://user:word@db.example/data',
    SEED: 'abc123def456',
  }
  const { config } = loaded({ file: file({ db: { command: ['db'], env } }) })
  const { DB_PASS, API_KEY, DATABASE_URL, SEED } = env
  expect(secretValues(config).filter((text) => text !== '')).toEqual([DB_PASS, API_KEY, DATABASE_URL, SEED])
})
