import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { networkAddresses } from '../../../src/commands/shared/find-daemon.ts'
import { jsonReply } from '../../upstreams/http/outcome.ts'
import { openProxy } from '../../http/harness.ts'
import type { Proxy, ProxyOptions } from '../../http/harness.ts'
import { createUser, inputOf, openGithub } from '../harness.ts'
import type { TestUser } from '../harness.ts'

/** Creates a user whose daemon runs in front of the simulated Copilot. */
async function openUser(options: ProxyOptions = {}): Promise<{ readonly user: TestUser; readonly proxy: Proxy }> {
  const proxy = await openProxy(options)
  const user = await createUser()
  Object.assign(user.env, {
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
    // Who is logged in is the daemon's business; the command only sees that somebody is.
    COPILOT_GITHUB_TOKEN: 'ghu_somebody',
  })
  return { user, proxy }
}

const places = {
  claude: '.claude/settings.json',
  codex: '.codex/config.toml',
  opencode: '.config/opencode/opencode.json',
}

const theirs = {
  claude: '{\n  "theme": "dark",\n  "env": {\n    "FOO": "1"\n  }\n}\n',
  codex: 'model = "theirs" # mine\napproval_policy = "never"\n\n[tui]\ntheme = "dark"\n',
  opencode: '{\n  "$schema": "https://opencode.ai/config.json",\n  "theme": "x" // mine\n}\n',
}

async function put(user: TestUser, place: string, text: string): Promise<string> {
  const path = join(user.home, place)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

/** The API version from which on upstream lists context tiers. */
const tieredFile = "copilot: { headers: { x-github-api-version: '2026-06-01' } }"

const clients = ['claude', 'codex', 'opencode'] as const

describe.each(clients)('setup %s', (client) => {
  test('shows the difference, writes, asks the model, and undoes it all', async () => {
    const { user, proxy } = await openUser({ file: tieredFile })
    const path = await put(user, places[client], theirs[client])
    const done = await user.run(`setup ${client} --yes`)
    expect(done.stderr).toMatch(
      / now uses copilot-proxy with [\w.-]+\.\nBackup: .*\nTo undo: copilot-proxy setup \w+ --undo\n/,
    )
    expect(done.stderr).toMatch(/ answered "Hello from .*" after \d+ ms\.\n$/)
    expect(done.code).toBe(0)
    const shown = done.stdout.replaceAll(user.home, '/home/me').replaceAll(proxy.url, 'http://127.0.0.1:4141')
    await expect(shown).toMatchFileSnapshot(`../../golden/setup/${client}.diff`)
    expect(await readFile(`${path}.copilot-proxy-backup`, 'utf8')).toBe(theirs[client])

    const again = await user.run(`setup ${client} --yes`)
    expect(again).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing to do.') })

    const undone = await user.run(`setup ${client} --undo --yes`)
    expect(undone).toMatchObject({ code: 0, stderr: expect.stringContaining('no longer uses copilot-proxy') })
    expect(await readFile(path, 'utf8')).toBe(theirs[client])
    expect(await readdir(dirname(path))).toHaveLength(1)
    expect(await user.run(`setup ${client} --undo --yes`)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Nothing to undo.'),
    })
  })

  test('makes a file where there is none, for its owner alone, which undo takes away', async () => {
    const { user } = await openUser()
    const path = join(user.home, places[client])
    expect(await user.run(`setup ${client} --yes`)).toMatchObject({ code: 0 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await user.run(`setup ${client} --undo --yes`)).toMatchObject({ code: 0 })
    expect(await readdir(dirname(path))).toEqual([])
  })

  test('--dry-run shows the same and writes nothing', async () => {
    const { user, proxy } = await openUser()
    const path = await put(user, places[client], theirs[client])
    const dry = await user.run(`setup ${client} --dry-run`)
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('+') })
    expect(await readFile(path, 'utf8')).toBe(theirs[client])
    expect(proxy.demo.count('/chat/completions') + proxy.demo.count('/v1/messages')).toBe(0)
    expect((await user.run(`setup ${client} --yes`)).stdout).toBe(dry.stdout)
    const undo = await user.run(`setup ${client} --undo --dry-run`)
    expect(undo.stdout).toContain('-')
    expect(await readFile(path, 'utf8')).not.toBe(theirs[client])
  })

  test('leaves a file alone that it does not understand', async () => {
    const { user } = await openUser()
    const path = await put(user, places[client], client === 'codex' ? 'model = [' : '{"env"')
    const { code, stderr } = await user.run(`setup ${client} --yes`)
    expect(stderr).toContain(`copilot-proxy setup ${client} --print`)
    expect(code).toBe(1)
    expect(await readdir(dirname(path))).toHaveLength(1)
  })
})

test('a person is asked, and anything but yes is no', async () => {
  const { user } = await openUser()
  const path = await put(user, places.claude, theirs.claude)
  for (const answer of ['', '\n', 'no\n']) {
    const { code, stderr } = await user.run('setup claude', { interactive: true, stdin: inputOf(answer) })
    expect(stderr).toContain(
      `Write this to ${path} and send one test request to claude-sonnet-5.5? [y/N] Nothing changed.\n`,
    )
    expect(code).toBe(1)
    expect(await readFile(path, 'utf8')).toBe(theirs.claude)
  }
  expect(await user.run('setup claude', { interactive: true, stdin: inputOf('y\n') })).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toContain('ANTHROPIC_BASE_URL')
})

test('without a person and without --yes nothing is done', async () => {
  const { user } = await openUser()
  expect(await user.run('setup claude')).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
  expect(await readdir(user.home)).toEqual([])
})

test('an interrupted question changes nothing', async () => {
  const { user } = await openUser()
  const interrupt = new AbortController()
  const stdin = (async function* () {
    interrupt.abort('SIGINT')
    await new Promise(() => {})
    yield ''
  })()
  const { code } = await user.run('setup claude', { interactive: true, stdin, signal: interrupt.signal })
  expect(code).toBe(130)
  expect(await readdir(user.home)).toEqual([])
})

test.each(['{ // mine\n  "theme": "dark"\n}\n', '{ "theme": "dark", }\n'])(
  'a file that Claude Code itself does not read is left alone: %j',
  async (text) => {
    const { user } = await openUser()
    const path = await put(user, places.claude, text)
    const { code, stderr } = await user.run('setup claude --yes')
    expect(stderr).toContain('Claude Code ignores a settings file with comments or trailing commas.')
    expect(code).toBe(1)
    expect(await readdir(dirname(path))).toHaveLength(1)
  },
)

test('a read-only file stays as it is, and no copy is made', async () => {
  const { user } = await openUser()
  const path = await put(user, places.codex, theirs.codex)
  await chmod(path, 0o444)
  expect(await user.run('setup codex --yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${path} is read-only. Run: chmod u+w ${path}`),
  })
  expect(await readFile(path, 'utf8')).toBe(theirs.codex)
  expect(await readdir(dirname(path))).toHaveLength(1)
})

test.each(['\uFEFF', '\r\n'])('marks and line ends of the user’s own stay (%j)', async (mark) => {
  const { user } = await openUser()
  for (const client of clients) {
    const text = mark === '\r\n' ? theirs[client].replaceAll('\n', mark) : mark + theirs[client]
    const path = await put(user, places[client], text)
    expect(await user.run(`setup ${client} --yes`)).toMatchObject({ code: 0 })
    const written = await readFile(path, 'utf8')
    expect(written).toContain('copilot-proxy')
    expect(written.startsWith('\uFEFF')).toBe(mark === '\uFEFF')
    expect(/[^\r]\n/.test(written)).toBe(mark !== '\r\n')
    expect(await user.run(`setup ${client} --undo --yes`)).toMatchObject({ code: 0 })
    expect(await readFile(path, 'utf8')).toBe(text)
  }
})

test('after the port has changed, setup and undo know their own settings again', async () => {
  const { user, proxy } = await openUser()
  const path = await put(user, places.claude, theirs.claude)
  await user.run('setup claude --yes')
  const elsewhere = (await readFile(path, 'utf8')).replace(proxy.url, 'http://127.0.0.1:4999')
  await writeFile(path, elsewhere)
  expect(await user.run('setup claude --yes')).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toContain(proxy.url)
  await writeFile(path, elsewhere)
  expect(await user.run('setup claude --undo --yes')).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toBe(theirs.claude)
})

test('a key in a file that others can read is spoken of', async () => {
  const { user } = await openUser({ file: 'server: { api-keys: [right-key-of-mine] }' })
  user.env['COPILOT_PROXY_API_KEY'] = 'right-key-of-mine'
  const path = await put(user, places.claude, theirs.claude)
  await chmod(path, 0o644)
  const { code, stdout, stderr } = await user.run('setup claude --yes')
  expect(code).toBe(0)
  expect(stderr).toContain(`Other users can read ${path}, which now contains a key. Run: chmod 600 ${path}`)
  expect(stdout + stderr).not.toContain('right-key-of-mine')
})

test('mode and link of a file stay', async () => {
  const { user } = await openUser()
  const real = await put(user, 'dotfiles/claude.json', theirs.claude)
  await chmod(real, 0o640)
  const path = join(user.home, places.claude)
  await mkdir(dirname(path))
  await symlink(real, path)
  expect(await user.run('setup claude --yes')).toMatchObject({ code: 0 })
  expect((await lstat(path)).isSymbolicLink()).toBe(true)
  expect((await stat(real)).mode & 0o777).toBe(0o640)
  expect(await readFile(real, 'utf8')).toContain('ANTHROPIC_BASE_URL')
})

test('undo keeps what has changed since', async () => {
  const { user } = await openUser()
  const path = await put(user, places.claude, theirs.claude)
  await user.run('setup claude --yes')
  await writeFile(path, (await readFile(path, 'utf8')).replace('"dark"', '"light"'))
  const { code, stderr } = await user.run('setup claude --undo --yes')
  expect(stderr).toContain('only the settings that setup added are removed')
  expect(code).toBe(0)
  expect(await readFile(path, 'utf8')).toBe(theirs.claude.replace('"dark"', '"light"'))
})

test('a client that was set up by hand gets that back', async () => {
  const { user, proxy } = await openUser()
  const own = `{ "env": { "ANTHROPIC_BASE_URL": "${proxy.url}", "ANTHROPIC_MODEL": "gpt-4.1" } }\n`
  const path = await put(user, places.claude, own)
  expect(await user.run('setup claude --yes')).toMatchObject({ code: 0 })
  expect(await user.run('setup claude --undo --yes')).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toBe(own)
})

test.each([
  ['claude', 'gpt-5.2[1m]', '"ANTHROPIC_MODEL": "gpt-5.2[1m]"', '"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "922000"'],
  ['claude', 'claude-sonnet-4-6[1m]', '"claude-sonnet-4.6[1m]"', '"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "936000"'],
  ['claude', 'claude-sonnet-4.6', '"claude-sonnet-4.6"', '"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"'],
  ['codex', 'gpt-5.2[1m]', 'model = "gpt-5.2-long-context"', 'model_context_window = 922000'],
  ['codex', 'gpt-5.2', 'model = "gpt-5.2"', 'model_context_window = 272000'],
  ['opencode', 'gpt-5.2-long-context', '"model": "copilot-proxy/gpt-5.2-long-context"', '"context": 922000'],
] as const)('%s is set up for the context tier of %s', async (client, wanted, named, sized) => {
  const { user } = await openUser({ file: tieredFile })
  const path = await put(user, places[client], theirs[client])
  expect(await user.run(`setup ${client} --model ${wanted} --yes`)).toMatchObject({ code: 0 })
  const text = await readFile(path, 'utf8')
  expect(text).toContain(named)
  expect(text).toContain(sized)
  const printed = await user.run(`setup --print ${client} --model ${wanted.replace('-4-6', '-4.6')}`)
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining(named) })
  expect(await user.run(`setup ${client} --undo --yes`)).toMatchObject({ code: 0 })
  expect(await readFile(path, 'utf8')).toBe(theirs[client])
})

test('a second setup with another model leaves undo as it was', async () => {
  const { user } = await openUser()
  const path = await put(user, places.codex, theirs.codex)
  await user.run('setup codex --yes')
  await user.run('setup codex --model claude-haiku-4.5 --yes')
  expect(await readFile(path, 'utf8')).toContain('model = "claude-haiku-4.5" # mine')
  await user.run('setup codex --yes')
  expect(await readFile(path, 'utf8')).not.toContain('model_context_window')
  await user.run('setup codex --undo --yes')
  expect(await readFile(path, 'utf8')).toBe(theirs.codex)
})

test('an entry of the user’s own comes back, and is shown without its key', async () => {
  const { user } = await openUser()
  const own = '{\n  "env": {\n    "ANTHROPIC_AUTH_TOKEN": "my-own-key",\n    "OTHER_API_KEY": "another"\n  }\n}\n'
  const path = await put(user, places.claude, own)
  const { stdout } = await user.run('setup claude --yes')
  expect(stdout).toContain('-    "ANTHROPIC_AUTH_TOKEN": "[redacted]"')
  expect(stdout).toContain('+    "ANTHROPIC_AUTH_TOKEN": "copilot-proxy"')
  expect(stdout).not.toMatch(/my-own-key|another/)
  await user.run('setup claude --undo --yes')
  expect(await readFile(path, 'utf8')).toBe(own)
})

test('settings that are in the way are named, those of other clients are not', async () => {
  const { user } = await openUser()
  await put(user, places.claude, '{ "env": { "ANTHROPIC_API_KEY": "sk-ant-example", "CLAUDE_CODE_USE_BEDROCK": "1" } }')
  user.env['OPENAI_BASE_URL'] = 'https://theirs.example'
  const { stderr } = await user.run('setup claude --yes')
  expect(stderr).toMatch(/Note: ANTHROPIC_API_KEY in .* and ANTHROPIC_AUTH_TOKEN are both set/)
  expect(stderr).toMatch(/Note: CLAUDE_CODE_USE_BEDROCK in .* makes Claude Code use another service/)
  expect(stderr).not.toContain('OPENAI')
})

test('notes are of the file as it will be, once, and before the question', async () => {
  const { user } = await openUser()
  const env = { ANTHROPIC_BASE_URL: 'https://gateway.example', ANTHROPIC_API_KEY: 'sk-ant-example' }
  const path = await put(user, places.claude, JSON.stringify({ env }, null, 2))
  const note = `Note: ANTHROPIC_API_KEY in ${path} and ANTHROPIC_AUTH_TOKEN are both set`

  const dry = await user.run('setup claude --dry-run')
  expect(dry.stderr).toContain(note)
  expect(dry.stderr).not.toContain('gateway.example')

  const asked = await user.run('setup claude', { interactive: true, stdin: inputOf('no\n') })
  expect(asked.stderr.split('Write this to')[0]).toContain(note)
  expect(asked.stderr).not.toContain('gateway.example')

  const done = await user.run('setup claude --yes')
  expect(done.stderr.split(note)).toHaveLength(2)
  expect(done.stderr).not.toMatch(/gateway\.example|sk-ant-example/)
})

test.each<readonly [title: string, place: string, text: string, command: string, expected: RegExp | undefined]>([
  [
    'a provider of Codex CLI that is no longer chosen',
    places.codex,
    'model_provider = "own"\n\n[model_providers.own]\nbase_url = "https://gateway.example/v1"\n',
    'setup codex --dry-run',
    undefined,
  ],
  [
    'a provider that a profile of Codex CLI still chooses',
    places.codex,
    'profile = "work"\n\n[profiles.work]\nmodel_provider = "own"\n\n' +
      '[model_providers.own]\nbase_url = "https://gateway.example/v1"\n',
    'setup codex --dry-run',
    /sends Codex CLI to gateway\.example/,
  ],
  [
    'our own provider of opencode, with the address that it had',
    places.opencode,
    '{ "provider": { "copilot-proxy": { "options": { "baseURL": "https://127.0.0.1:PORT/v1" } } } }',
    'setup opencode --dry-run',
    undefined,
  ],
])('judged by what stays: %s', async (_title, place, text, command, expected) => {
  const { user } = await openUser()
  await put(user, place, text.replace('PORT', String(user.env['COPILOT_PROXY_SERVER_PORT'])))
  const { code, stderr } = await user.run(command)
  expect(code).toBe(0)
  if (expected === undefined) expect(stderr).not.toContain('Note:')
  else expect(stderr).toMatch(expected)
})

test('a variable that the written file goes before is not in the way, one beside it is', async () => {
  const { user } = await openUser()
  Object.assign(user.env, { ANTHROPIC_BASE_URL: 'https://gateway.example', ANTHROPIC_API_KEY: 'sk-ant-example' })
  const { stderr } = await user.run('setup claude --dry-run')
  expect(stderr).toContain('Note: ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are both set')
  expect(stderr).not.toMatch(/gateway\.example|sk-ant-example/)
})

test('a failed request is reported, and changes the exit code', async () => {
  const { user, proxy } = await openUser()
  proxy.demo.script('/v1/messages', { outcome: jsonReply(500, { error: { message: 'nobody knows' } }) })
  const { code, stderr } = await user.run('setup claude --yes')
  expect(stderr).toMatch(
    /The test request failed\. Status \d{3}: .*\nThe settings were written\. Find the cause: copilot-proxy doctor\n$/,
  )
  expect(code).toBe(1)
})

test('an unusable login is reported, and no file is written with models that it may lack', async () => {
  const { user } = await openUser({ login: 'revoked' })
  const { code, stderr } = await user.run('setup claude --yes')
  expect(stderr).toMatch(/^copilot-proxy runs at \S+, but cannot use any model\. GitHub does not accept the token/m)
  expect(code).toBe(1)
  await expect(readFile(join(user.home, places.claude))).rejects.toThrow('ENOENT')
})

test('of opencode’s two files the one that it goes by is written, unless one is named', async () => {
  const { user } = await openUser()
  const plain = await put(user, places.opencode, '{}')
  const commented = await put(user, `${places.opencode}c`, '{ "model": "theirs/theirs" /* mine */ }')
  const named = await put(user, 'named.json', '{}')
  const beside = await put(user, 'named.jsonc', '{}')
  expect(await user.run('setup opencode --yes')).toMatchObject({ code: 0 })
  expect(await readFile(plain, 'utf8')).toBe('{}')
  expect(await readFile(commented, 'utf8')).toMatch(/"model": "copilot-proxy\/.*\/\* mine \*\//)
  user.env['OPENCODE_CONFIG'] = named
  expect(await user.run('setup opencode --yes')).toMatchObject({ code: 0 })
  expect(await readFile(named, 'utf8')).toContain('"model": "copilot-proxy/')
  expect(await readFile(beside, 'utf8')).toBe('{}')
})

test('a list beside which opencode takes no provider is named, and stays the user’s', async () => {
  const { user } = await openUser()
  const list = '"enabled_providers": ["anthropic"] // at work'
  const file = await put(user, places.opencode, `{\n  ${list}\n}\n`)
  const { code, stderr } = await user.run('setup opencode --yes')
  expect(code).toBe(0)
  expect(stderr).toMatch(
    /Note: enabled_providers in .*opencode\.json turns off copilot-proxy, .* Add copilot-proxy to that list\./,
  )
  expect(await readFile(file, 'utf8')).toContain(list.replace(' //', ', //'))
})

describe('a daemon that asks for a key', () => {
  const file = 'server: { api-keys: [right-key-of-mine] }'

  test('gets it, and it is not shown', async () => {
    const { user } = await openUser({ file })
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = 'right-key-of-mine'
    const { code, stdout, stderr } = await user.run('setup claude --yes')
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain('right-key-of-mine')
    expect(await readFile(join(user.home, places.claude), 'utf8')).toContain('right-key-of-mine')
    expect((await user.run('setup codex --yes')).stderr).toContain('Codex CLI needs a key in COPILOT_PROXY_API_KEY')
    for (const client of ['codex', 'opencode'] as const) {
      expect(await user.run(`setup ${client} --yes`)).toMatchObject({ code: 0 })
      expect(await readFile(join(user.home, places[client]), 'utf8')).not.toContain('right-key-of-mine')
    }
    expect((await user.run('setup --print openai-sdk')).stdout).toContain('OPENAI_API_KEY=YOUR_KEY')
  })

  test('prints what to do if only the key’s hash is known', async () => {
    const { user } = await openUser({ file })
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = `mine:sha256:${'0'.repeat(64)}`
    expect(await user.run('setup claude --yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('export COPILOT_PROXY_API_KEY=$(copilot-proxy key add)'),
    })
    user.env['COPILOT_PROXY_API_KEY'] = 'right-key-of-mine'
    expect(await user.run('setup claude --yes')).toMatchObject({ code: 0 })
    user.env['COPILOT_PROXY_API_KEY'] = 'wrong'
    expect(await user.run('setup claude --yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('refused the key in COPILOT_PROXY_API_KEY'),
    })
  })
})

function ipv4(address: string, internal = false) {
  return {
    address,
    netmask: '255.255.255.0',
    family: 'IPv4' as const,
    mac: '00:00:00:00:00:00',
    internal,
    cidr: null,
  }
}

describe('setup --print', () => {
  test('prints settings with the address and a model of the daemon', async () => {
    const { user, proxy } = await openUser()
    const { code, stdout } = await user.run('setup --print openai-sdk')
    expect(code).toBe(0)
    expect(stdout).toBe(
      `export OPENAI_BASE_URL=${proxy.url}/v1\nexport OPENAI_API_KEY=copilot-proxy\n# model: claude-sonnet-5.5\n`,
    )
    expect(proxy.demo.count('/v1/messages') + proxy.demo.count('/chat/completions')).toBe(0)
  })

  test('names the address of this machine on its network where the daemon listens on all networks', async () => {
    const user = await createUser()
    Object.assign(user.env, {
      COPILOT_PROXY_SERVER_HOST: '0.0.0.0',
      COPILOT_PROXY_SERVER_API_KEYS: 'example-key-0123456789',
    })
    const [address] = networkAddresses('0.0.0.0', networkInterfaces())
    const { code, stdout, stderr } = await user.run('setup --print openai-sdk')
    expect(code).toBe(0)
    expect(stdout).toContain(`OPENAI_BASE_URL=http://${address ?? '127.0.0.1'}:2/v1`)
    expect(stderr.includes('listens on all networks')).toBe(address !== undefined)
  })

  test.each([
    ['0.0.0.0', ['192.0.2.7', '198.51.100.7']],
    ['::', ['192.0.2.7', '198.51.100.7']],
    ['', ['192.0.2.7', '198.51.100.7']],
    ['127.0.0.1', []],
    ['192.0.2.7', []],
    ['proxy.example', []],
  ])('a daemon at "%s" is reached from other machines at %j', (host, expected) => {
    const ipv6 = { ...ipv4('fe80::1'), family: 'IPv6' as const, scopeid: 2 }
    const interfaces = { lo: [ipv4('127.0.0.1', true)], eth0: [ipv6, ipv4('192.0.2.7')], wlan0: [ipv4('198.51.100.7')] }
    expect(networkAddresses(host, interfaces)).toEqual(expected)
  })

  test('works without a daemon and without a login', async () => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run('setup --print claude')
    expect(code).toBe(0)
    expect(JSON.parse(stdout).env.ANTHROPIC_BASE_URL).toBe('http://127.0.0.1:2')
    expect(stderr).toContain('built-in list')
  })

  test('knows near misses of a model that there is not', async () => {
    const user = await createUser()
    expect(await user.run('setup --print claude --model gpt-5-mimi')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Unknown model "gpt-5-mimi"\. Did you mean gpt-5-mini/),
    })
  })
})

function modelCalls({ demo }: Proxy): number {
  return demo.count('/chat/completions') + demo.count('/v1/messages')
}

describe('a client whose settings are only printed', () => {
  test('is tested only if the person agrees', async () => {
    const { user, proxy } = await openUser()
    const answered = async (answer: string) =>
      (await user.run('setup openai-sdk', { interactive: true, stdin: inputOf(answer) })).stderr
    expect(await answered('no\n')).toMatch(/Send one test request to claude-sonnet-5.5\? \[y\/N\] $/)
    expect(modelCalls(proxy)).toBe(0)
    expect(await answered('yes\n')).toMatch(/ answered "Hello from /)
    expect(modelCalls(proxy)).toBe(1)
  })

  test('is not tested without a terminal, unless --yes asks for it', async () => {
    const { user, proxy } = await openUser()
    const { code, stdout, stderr } = await user.run('setup openai-sdk')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('export OPENAI_BASE_URL=') })
    expect(stderr).toMatch(/\nTo send a test request: copilot-proxy setup openai-sdk --yes\n$/)
    expect(modelCalls(proxy)).toBe(0)
    expect((await user.run('setup openai-sdk --yes')).stderr).toMatch(/ answered "Hello from /)
    expect(modelCalls(proxy)).toBe(1)
  })

  test('has nothing to undo', async () => {
    const { user } = await openUser()
    expect(await user.run('setup openai-sdk --undo')).toMatchObject({ code: 2 })
  })
})

test.each([
  [
    'linux',
    'copilot-proxy must be running when you use Claude Code. To start it with your session: copilot-proxy service install',
  ],
  [
    'win32',
    'copilot-proxy must be running when you use Claude Code. To start it in the background: copilot-proxy start',
  ],
] as const)('after setup on %s, it says how copilot-proxy starts', async (platform, sentence) => {
  const { user } = await openUser()
  expect((await user.run('setup claude --yes', { platform })).stderr).toContain(`\n${sentence}\n`)
})

test.each([
  ['as it is where it is short', ' Ready. ', 'Ready.'],
  ['whole up to 80 characters', '👋'.repeat(80), '👋'.repeat(80)],
  ['with a mark where it was cut', '👋'.repeat(81), `${'👋'.repeat(80)}…`],
])('an answer of the model is shown %s', async (_how, content, quoted) => {
  const { user } = await openUser()
  const fetchOf: typeof fetch = async (resource, init) =>
    typeof resource === 'string' && resource.endsWith('/v1/chat/completions')
      ? Response.json({ model: 'gpt-5-mini', choices: [{ message: { content } }] })
      : fetch(resource, init)
  const { stderr } = await user.run('setup openai-sdk --yes', { fetch: fetchOf })
  expect(stderr).toMatch(new RegExp(`^gpt-5-mini answered "${quoted}" after \\d+ ms\\.$`, 'm'))
})

function notesIn(text = ''): readonly string[] {
  return text.split('\n').filter((line) => line.startsWith('Note: '))
}

describe('variables that lead a program with an SDK elsewhere', () => {
  const elsewhere = {
    OPENAI_BASE_URL: 'https://someone:pass-example@api.openai.com/v1',
    OPENAI_API_KEY: 'sk-example',
    ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
    ANTHROPIC_AUTH_TOKEN: 'token-example',
    ANTHROPIC_API_KEY: 'sk-ant-example',
    CLAUDE_CODE_USE_BEDROCK: '1',
  }
  const named = {
    'openai-sdk': [
      /^Note: OPENAI_BASE_URL sends OpenAI’s clients to api\.openai\.com .* Set OPENAI_BASE_URL=http:.*\/v1\.$/,
    ],
    'anthropic-sdk': [
      /^Note: ANTHROPIC_BASE_URL sends Anthropic’s clients to api\.anthropic\.com .* Set ANTHROPIC_BASE_URL=http:.*\d\.$/,
      /^Note: ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY are both set, .* Unset ANTHROPIC_AUTH_TOKEN\.$/,
    ],
  }

  for (const sdk of ['openai-sdk', 'anthropic-sdk'] as const) {
    test.each(['', ' --print', ' --dry-run'])(`are named, without a key: setup ${sdk}%s`, async (option) => {
      const { user } = await openUser()
      Object.assign(user.env, elsewhere)
      const { code, stdout, stderr } = await user.run(`setup ${sdk}${option}`)
      expect(code).toBe(0)
      // Before the model is asked.
      const notes = notesIn(stderr.split('Sending ')[0])
      expect(notes).toEqual(named[sdk].map((each) => expect.stringMatching(each)))
      expect(notesIn(stderr)).toEqual(notes)
      expect(stdout + stderr).not.toMatch(/(?:sk|pass|token|ant)-example|Claude Code/)
    })

    test(`are none where they lead here: setup ${sdk}`, async () => {
      const { user, proxy } = await openUser()
      Object.assign(user.env, {
        OPENAI_BASE_URL: `${proxy.url}/v1`,
        OPENAI_API_KEY: 'anything',
        ANTHROPIC_BASE_URL: proxy.url,
        ANTHROPIC_API_KEY: 'anything',
      })
      expect(notesIn((await user.run(`setup ${sdk}`)).stderr)).toEqual([])
    })
  }

  test.each([
    ['openai-sdk', 'OPENAI_API_KEY'],
    ['anthropic-sdk', 'ANTHROPIC_API_KEY'],
  ])('a key is named where the daemon asks for one of its own: setup %s', async (sdk, variable) => {
    const { user } = await openUser({ file: 'server: { api-keys: [right-key-of-mine] }' })
    user.env['COPILOT_PROXY_API_KEY'] = 'right-key-of-mine'
    user.env[variable] = 'sk-example'
    const { stdout, stderr } = await user.run(`setup ${sdk}`)
    expect(notesIn(stderr)).toEqual([
      expect.stringMatching(`^Note: ${variable} .* Set ${variable} to a key of copilot-proxy\\.$`),
    ])
    expect(stdout + stderr).not.toContain('sk-example')
    user.env[variable] = 'right-key-of-mine'
    expect(notesIn((await user.run(`setup ${sdk}`)).stderr)).toEqual([])
  })
})

/** The daemon says that its answers are simulated. */
const asDemo: typeof fetch = async (resource, init) => {
  const response = await fetch(resource, init)
  if (typeof resource !== 'string' || !resource.endsWith('/healthz')) return response
  const health: object = JSON.parse(await response.text())
  return Response.json({ ...health, demo: true })
}

describe('without a login', () => {
  test.each(['setup claude', 'setup claude --yes', 'setup claude --dry-run', 'setup cursor', 'setup cursor --yes'])(
    '%s says to log in, starts nothing and writes nothing',
    async (commandLine) => {
      const user = await createUser()
      const { code, stdout, stderr } = await user.run(commandLine)
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
      expect(stderr).toContain('copilot-proxy login')
      expect(await readdir(user.home)).toEqual([])
    },
  )

  test('in a terminal too', async () => {
    const user = await createUser(await openGithub())
    const { code, stdout, stderr } = await user.run('setup claude', { interactive: true, stdin: inputOf('y\n') })
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('copilot-proxy login')
  })

  test('a daemon with simulated answers needs none, and it says so', async () => {
    const { user } = await openUser()
    delete user.env['COPILOT_GITHUB_TOKEN']
    const { code, stderr } = await user.run('setup claude --yes', { fetch: asDemo })
    expect(stderr).toContain('Note: copilot-proxy runs with --demo, so all answers are simulated.\n')
    expect(code).toBe(0)
  })

  test('--print says that the models are built in', async () => {
    const user = await createUser()
    const { code, stderr } = await user.run('setup --print cursor')
    expect(stderr).toMatch(/^Note: Not logged in, so the models are from a built-in list .* copilot-proxy login\n/)
    expect(code).toBe(0)
  })
})
