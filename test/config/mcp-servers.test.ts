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
