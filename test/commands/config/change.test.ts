import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { createUser } from '../harness.ts'

async function userWith(yaml?: string) {
  const user = await createUser()
  delete user.env['COPILOT_PROXY_SERVER_PORT']
  const file = join(user.home, 'config.yaml')
  if (yaml !== undefined) await writeFile(file, yaml)
  return { ...user, file, read: () => readFile(file, 'utf8') }
}

describe('config init', () => {
  test('writes a valid file that changes nothing, for this user alone, and never overwrites it', async () => {
    const { run, file, read } = await userWith()
    const before = (await run('config show --json')).stdout
    expect(await run('config init')).toEqual({ code: 0, stdout: `Created ${file}\n`, stderr: '' })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await run('config check')).toMatchObject({ code: 0 })
    expect((await run('config show --json')).stdout).toBe(before)
    const text = await read()
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([])
    await writeFile(file, `${text}# mine\n`)
    const stderr = `${file} already exists. Run: copilot-proxy config edit\n`
    expect(await run('config init')).toEqual({ code: 1, stdout: '', stderr })
    expect(await read()).toContain('# mine')
  })

  test('each of its settings is valid without its #', async () => {
    const { run, file, read } = await userWith()
    await run('config init')
    await writeFile(file, (await read()).replaceAll(/^ {2}#(?=[a-z])/gm, '  '))
    expect(await run('config check')).toMatchObject({ code: 0 })
  })

  test('creates the file that --config names, and its folder', async () => {
    const { run, home } = await userWith()
    const { stdout } = await run('config init --json --config sub/my.yaml')
    expect(JSON.parse(stdout)).toEqual({ path: join(home, 'sub/my.yaml') })
  })
})

describe('config set', () => {
  test.each([
    ['server.port', '8080', '# mine\nserver:\n  port: 1 # here\n', '# mine\nserver:\n  port: 8080 # here\n'],
    ['server.port', '8080', 'server: { host: localhost } # all\n', 'server: { host: localhost, port: 8080 } # all\n'],
    ['log.bodies', 'true', 'log:\n  # private\n', 'log:\n  # private\n  bodies: true\n'],
    ['models.hide', 'gpt-4,gpt-4.1', '', 'models:\n  hide: [gpt-4, gpt-4.1]\n'],
    ['models.hide', '[]', 'models:\n  hide:\n    - a\n', 'models:\n  hide: []\n'],
    ['models.aliases.gpt-4.1', 'gpt-5-mini', '', 'models:\n  aliases:\n    gpt-4.1: gpt-5-mini\n'],
    ['models.aliases.best', '[gpt-5,gpt-4]', 'models: {}\n', 'models:\n  aliases:\n    best: [gpt-5, gpt-4]\n'],
    ['copilot.headers.X-Team', 'blue', '', 'copilot:\n  headers:\n    x-team: blue\n'],
    ['copilot-oauth.scope', '2024', '', 'copilot-oauth:\n  scope: "2024"\n'],
  ])('%s %s', async (key, value, before, after) => {
    const { run, file, read } = await userWith(before)
    const { code, stdout, stderr } = await run(`config set ${key} ${value}`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^Set ${key} to .* in ${file}\n$`))
    expect(await read()).toBe(after)
  })

  test.each([
    ['server.port many', 2, 'was not changed, because the configuration would be invalid:\n'],
    ['server.prot 1', 2, 'Unknown setting "server.prot". Did you mean server.port?\n'],
    ['port 1', 2, 'Unknown setting "port". Did you mean server.port?\n'],
    ['quite-another 1', 2, 'Unknown setting "quite-another". Run: copilot-proxy config show\n'],
    ['log debug', 2, '"log" is a group of settings. Choose one:\n  log.level\n'],
    ['server.host 0.0.0.0', 2, 'Run: copilot-proxy key add NAME'],
    ['log.level debug', 1, 'was not changed: copilot-proxy cannot edit the YAML of log.level'],
  ])('refuses %s', async (words, expectedCode, message) => {
    const before = 'auth: &same {}\nlog: *same\n'
    const { run, read } = await userWith(before)
    const { code, stdout, stderr } = await run(`config set ${words}`)
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' })
    expect(stderr).toContain(message)
    expect(await read()).toBe(before)
  })

  test('shows no secret', async () => {
    const { run, read } = await userWith('')
    for (const key of ['codex.api-key', 'server.api-keys', 'copilot.headers.x-api-key']) {
      for (const option of ['', ' --json']) {
        const { code, stdout, stderr } = await run(`config set ${key} made-up-secret-0123456789${option}`)
        expect(code).toBe(0)
        expect(stdout + stderr).not.toContain('made-up-secret')
      }
      expect((await run(`config get ${key}`)).stdout).not.toContain('made-up-secret')
    }
    expect(await read()).toContain('made-up-secret')
  })

  test('says whether the running daemon uses it, and that the environment wins', async () => {
    const proxy = await openProxy()
    const { run, env, file } = await userWith(`server: { port: ${proxy.port} }\n`)
    expect((await run('config set log.level debug')).stderr).toBe('The running copilot-proxy uses it now.\n')
    const { stdout } = await run('config set log.format json --json')
    const document = { key: 'log.format', value: 'json', path: file, daemon_running: true, restart_required: true }
    expect(JSON.parse(stdout)).toEqual(document)
    env['COPILOT_PROXY_LOG_FORMAT'] = 'pretty'
    expect((await run('config set log.format auto')).stderr).toBe(
      'Note: COPILOT_PROXY_LOG_FORMAT is set and overrides the file.\nTo apply log.format, run: copilot-proxy restart\n',
    )
  })
})

describe('config unset', () => {
  test.each([
    [
      'server.port',
      '# mine\nserver:\n  port: 1 # here\n  # other\n  host: localhost\n',
      '# mine\nserver:\n  # other\n  host: localhost\n',
    ],
    ['server.port', 'server:\n  port: 1\nlog: { level: debug } # loud\n', 'log: { level: debug } # loud\n'],
    ['server.port', 'server: { port: 1 }\n', '{}\n'],
    ['models.aliases.fast', 'models:\n  aliases: { fast: a, slow: b }\n', 'models:\n  aliases: { slow: b }\n'],
    [
      'copilot.headers.x-team',
      'copilot:\n  headers:\n    X-Team: blue\n    x-b: c\n',
      'copilot:\n  headers:\n    x-b: c\n',
    ],
    ['codex.timeouts', 'codex:\n  enabled: true\n  timeouts: { idle-seconds: 5 }\n', 'codex:\n  enabled: true\n'],
    [
      'codex.timeouts.idle-seconds',
      'codex:\n  enabled: true\n  timeouts: { idle-seconds: 5 }\n',
      'codex:\n  enabled: true\n',
    ],
  ])('%s', async (key, before, after) => {
    const { run, file, read } = await userWith(before)
    expect(await run(`config unset ${key}`)).toEqual({ code: 0, stdout: `Removed ${key} from ${file}\n`, stderr: '' })
    expect(await read()).toBe(after)
    expect(await run('config check')).toMatchObject({ code: 0 })
  })

  test('removes misspelt keys one by one, each of which makes the file invalid', async () => {
    const { run, file, read } = await userWith('# mine\nserver: { prot: 1, port: 2 }\nlgo: { level: debug }\n')
    expect(await run('config check')).toMatchObject({ code: 2 })
    expect(await run('config unset server.prot')).toEqual({
      code: 0,
      stdout: `Removed server.prot from ${file}\n`,
      stderr: 'The configuration is still invalid. Run: copilot-proxy config check\n',
    })
    expect(await run('config unset lgo')).toMatchObject({ code: 0, stderr: '' })
    expect(await read()).toBe('# mine\nserver: { port: 2 }\n')
    expect(await run('config check')).toMatchObject({ code: 0 })
  })

  test.each([
    ['server.prot', 2, 'Unknown setting "server.prot". Did you mean server.port?\n'],
    ['log', 2, '"log" is a group of settings. Choose one:\n  log.level\n'],
    ['log.level', 1, 'log.level is not set in '],
    ['server.api-keys', 2, 'was not changed, because the configuration would be invalid:\n'],
  ])('refuses %s', async (key, expectedCode, message) => {
    const before = 'server: { host: 0.0.0.0, api-keys: [made-up-key-1] }\n'
    const { run, read } = await userWith(before)
    const { code, stdout, stderr } = await run(`config unset ${key}`)
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' })
    expect(stderr).toContain(message)
    expect(await read()).toBe(before)
  })

  test('says whether the running daemon uses the default now', async () => {
    const proxy = await openProxy()
    const { run, file } = await userWith(`server: { port: ${proxy.port} }\nlog: { format: json, level: debug }\n`)
    expect((await run('config unset log.level')).stderr).toBe('The running copilot-proxy uses it now.\n')
    const { stdout } = await run('config unset log.format --json')
    expect(JSON.parse(stdout)).toEqual({ key: 'log.format', path: file, daemon_running: true, restart_required: true })
  })
})

describe('config get', () => {
  test.each([
    ['server.port', '4242\n'],
    ['log.level', 'info\n'],
    ['models', '{"aliases":{"fast":"gpt-4.1"},"hide":[]}\n'],
    ['models.aliases.fast', 'gpt-4.1\n'],
  ])('%s', async (key, stdout) => {
    const { run } = await userWith('server: { port: 4242 }\nmodels: { aliases: { fast: gpt-4.1 } }\n')
    expect(await run(`config get ${key}`)).toEqual({ code: 0, stdout, stderr: '' })
  })

  test('names the sources with --json, and refuses what it does not know', async () => {
    const { run, file } = await userWith('server: { port: 4242 }\nmodels: { aliases: { fast: gpt-4.1 } }\n')
    const { stdout } = await run('config get server.port --json')
    const source = `${file}:1:17`
    expect(JSON.parse(stdout)).toEqual({ key: 'server.port', value: 4242, source, sources: { 'server.port': source } })
    const { stdout: table } = await run('config get models.aliases --json')
    const sources = { 'models.aliases.fast': `${file}:2:28` }
    expect(JSON.parse(table)).toEqual({ key: 'models.aliases', value: { fast: 'gpt-4.1' }, source: null, sources })
    expect(await run('config get server.prot')).toMatchObject({ code: 2, stdout: '' })
    expect(await run('config get models.aliases.none')).toMatchObject({ code: 1, stdout: '' })
  })
})

async function userWithEditor(script: string, yaml?: string) {
  const user = await userWith(yaml)
  const editor = join(user.home, 'my editor')
  await writeFile(editor, `#!/bin/sh\n${script}\n`)
  await chmod(editor, 0o755)
  Object.assign(user.env, { PATH: process.env['PATH'], EDITOR: `'${editor}' --wait`, VISUAL: '' })
  return user
}

describe.runIf(process.platform !== 'win32')('config edit', () => {
  test('opens the file in the editor with its arguments, and creates it first', async () => {
    const { run, file, read } = await userWithEditor('[ "$1" = --wait ] && echo "log: { level: debug }" > "$2"')
    expect(await run('config edit')).toEqual({ code: 0, stdout: `${file} is valid.\n`, stderr: `Created ${file}\n` })
    expect(await read()).toBe('log: { level: debug }\n')
  })

  test('names the line of a fault', async () => {
    const { run, file } = await userWithEditor('printf "log:\\n  level: loud\\n" > "$2"', '')
    const { code, stdout, stderr } = await run('config edit')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`The configuration is invalid:\n${file}:2:10  log.level  expected one of`)
  })

  test('says what to do where the editor fails', async () => {
    const { run } = await userWithEditor('exit 3', '')
    const { code, stderr } = await run('config edit')
    expect(code).toBe(1)
    expect(stderr).toContain('ended with exit code 3. Set EDITOR to your editor')
  })
})
