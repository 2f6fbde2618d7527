import { some } from '../../thorough.ts'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { createUser, inputOf } from '../harness.ts'
import type { TestUser } from '../harness.ts'

const clients = ['claude', 'codex', 'opencode'] as const

const places = {
  claude: '.claude.json',
  codex: '.codex/config.toml',
  opencode: '.config/opencode/opencode.json',
}

const theirs = {
  claude: '{\n  "userID": "1",\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}',
  codex: 'model = "theirs" # mine\n\n[mcp_servers.other]\ncommand = "x"\n',
  opencode: '{\n  "$schema": "https://opencode.ai/config.json",\n  "theme": "x" // mine\n}\n',
}

async function openUser(): Promise<TestUser> {
  const user = await createUser()
  // The other variables of a client's files would lead outside of this home.
  Object.assign(user.env, { PATH: process.env['PATH'] })
  return user
}

async function put(user: TestUser, place: string, text: string): Promise<string> {
  const path = join(user.home, place)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

function anonymous(text: string, user: TestUser): string {
  const [node, script = ''] = user.context().self
  return text
    .replaceAll(user.home, '/home/me')
    .replaceAll(node, '/usr/bin/node')
    .replaceAll(script, '/usr/bin/copilot-proxy')
}

function edited(text: string): string {
  return text.replace('"x"', '"y"')
}

describe.each(some(clients, 3, 1))('setup %s --mcp', (client) => {
  const command = `setup ${client} --mcp`

  test('shows the difference, writes, starts the server, and undoes it all', async () => {
    const user = await openUser()
    const path = await put(user, places[client], theirs[client])
    const done = await user.run(`${command} --yes`)
    expect(done.stderr).toMatch(/ now has the MCP server copilot-proxy, .*\nBackup: .*\nTo undo: .* --mcp --undo\n/)
    expect(done.stderr).toMatch(/The MCP server has 18 tools\./)
    expect(done.code).toBe(0)
    await expect(anonymous(done.stdout, user)).toMatchFileSnapshot(`../../golden/setup/${client}-mcp.diff`)
    expect(await readFile(`${path}.copilot-proxy-mcp-backup`, 'utf8')).toBe(theirs[client])

    const again = await user.run(`${command} --yes`)
    expect(again).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing to do.') })

    const undone = await user.run(`${command} --undo --yes`)
    expect(undone).toMatchObject({ code: 0, stderr: expect.stringContaining('no longer has the MCP server') })
    expect(await readFile(path, 'utf8')).toBe(theirs[client])
    expect((await readdir(dirname(path))).filter((name) => name.includes('backup'))).toEqual([])
    expect(await user.run(`${command} --undo --yes`)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Nothing to undo.'),
    })
  })

  test('makes a file where there is none, for its owner alone, which undo takes away', async () => {
    const user = await openUser()
    const path = join(user.home, places[client])
    expect(await user.run(`${command} --yes`)).toMatchObject({ code: 0 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await user.run(`${command} --undo --yes`)).toMatchObject({ code: 0 })
    await expect(stat(path)).rejects.toThrow('ENOENT')
  })

  test('--dry-run shows the same and writes nothing, --print prints the settings alone', async () => {
    const user = await openUser()
    const path = await put(user, places[client], theirs[client])
    const dry = await user.run(`${command} --dry-run`)
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('+') })
    const printed = await user.run(`${command} --print`)
    expect(printed).toMatchObject({ code: 0, stderr: expect.stringContaining(`add this to ${path}:`) })
    await expect(anonymous(printed.stdout, user)).toMatchFileSnapshot(`../../golden/setup/${client}-mcp.print`)
    expect(await readFile(path, 'utf8')).toBe(theirs[client])
    expect((await user.run(`${command} --yes`)).stdout).toBe(dry.stdout)
  })

  test('undo keeps what was written since', async () => {
    const user = await openUser()
    const path = await put(user, places[client], theirs[client])
    await user.run(`${command} --yes`)
    await writeFile(path, edited(await readFile(path, 'utf8')))
    const undone = await user.run(`${command} --undo --yes`)
    expect(undone).toMatchObject({ code: 0, stderr: expect.stringContaining('was edited after setup') })
    expect(await readFile(path, 'utf8')).toBe(edited(theirs[client]))
  })

  test('leaves a file alone that it does not understand', async () => {
    const user = await openUser()
    const text = client === 'codex' ? 'model = [' : '{"mcp"'
    const path = await put(user, places[client], text)
    const { code, stderr } = await user.run(`${command} --yes`)
    expect(stderr).toContain(`${command} --print`)
    expect(code).toBe(1)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test.each([
    ['before', true],
    ['after', false],
  ])('works together with the plain setup that was undone %s it', async (_name, isPlainFirst) => {
    const user = await openUser()
    const proxy = await openProxy()
    Object.assign(user.env, {
      COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
      COPILOT_GITHUB_TOKEN: 'ghu_somebody',
    })
    const path = await put(user, places[client], theirs[client])
    const steps = [`setup ${client}`, command]
    for (const step of steps) expect(await user.run(`${step} --yes`)).toMatchObject({ code: 0 })
    const both = await readFile(path, 'utf8')
    expect(both).toContain('mcp')
    for (const step of isPlainFirst ? steps : steps.toReversed()) {
      expect(await user.run(`${step} --undo --yes`)).toMatchObject({ code: 0 })
    }
    expect(await readFile(path, 'utf8')).toBe(theirs[client])
    expect((await readdir(dirname(path))).filter((name) => name.includes('backup'))).toEqual([])
  })
})

test('undoing the plain setup keeps the MCP server, and the other way round', async () => {
  const user = await openUser()
  const proxy = await openProxy()
  Object.assign(user.env, { COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port, COPILOT_GITHUB_TOKEN: 'ghu_somebody' })
  const path = join(user.home, places.codex)
  const has = async () => {
    const text = await readFile(path, 'utf8')
    return {
      models: text.includes('[model_providers.copilot-proxy]'),
      mcp: text.includes('[mcp_servers.copilot-proxy]'),
    }
  }
  await user.run('setup codex --mcp --yes')
  await user.run('setup codex --yes')
  expect(await has()).toEqual({ models: true, mcp: true })
  await user.run('setup codex --mcp --undo --yes')
  expect(await has()).toEqual({ models: true, mcp: false })
  await user.run('setup codex --mcp --yes')
  await user.run('setup codex --undo --yes')
  expect(await has()).toEqual({ models: false, mcp: true })
})

test('the server is started with the configuration that was named', async () => {
  const user = await openUser()
  const config = await put(user, 'other.yaml', '')
  const { stdout } = await user.run(`--config ${config} setup claude --mcp --print`)
  expect(JSON.parse(stdout)).toMatchObject({
    mcpServers: {
      'copilot-proxy': {
        args: expect.arrayContaining(['mcp', '--config', config]),
        env: { COPILOT_PROXY_HOME: user.home },
      },
    },
  })
})

test('a person is asked, and anything but yes is no', async () => {
  const user = await openUser()
  const path = await put(user, places.claude, theirs.claude)
  const asked = await user.run('setup claude --mcp', { interactive: true, stdin: inputOf('no\n') })
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('start the MCP server once? [y/N]') })
  expect(await user.run('setup claude --mcp')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(await readFile(path, 'utf8')).toBe(theirs.claude)
})

test('a server that does not start is reported', async () => {
  const user = await openUser()
  const broken = await user.run('setup claude --mcp --yes', { self: ['/no/such/program'] })
  expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining('/no/such/program') })
  await user.run('setup claude --mcp --undo --yes')
  await put(user, 'config.yaml', 'nothing: 1')
  expect(await user.run('setup claude --mcp --yes')).toMatchObject({ code: 2 })
})

test.each([
  ['setup cursor --mcp', 'setup --mcp is for claude, codex, opencode'],
  ['setup claude --mcp --model gpt-5', 'cannot be used with'],
])('%s is wrong usage', async (line, words) => {
  const user = await openUser()
  expect(await user.run(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(words) })
})
