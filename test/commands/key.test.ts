import { times } from '../thorough.ts'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { generateKey } from '../../src/commands/key.ts'
import { changeConfigFile } from '../../src/commands/shared/edit-file.ts'
import { apiKeysOf } from '../../src/config/api-keys.ts'
import { openUsageStore } from '../../src/usage/store.ts'
import { dayOf, noSums } from '../../src/usage/tally.ts'
import { startCli, startShell } from '../cli/cli.ts'
import { createUser, recordOutput } from './harness.ts'

// Guards against a hang only: processes take their time to start on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const hash = '0123456789abcdef'.repeat(4)
const keyShape = /^sk-copilot-proxy-[\w-]{43}$/

function sha256(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

/** A user whose configuration file holds this text. */
async function userWith(text: string) {
  const user = await createUser()
  const file = join(user.home, 'config.yaml')
  await writeFile(file, text)
  return { ...user, file, read: () => readFile(file, 'utf8') }
}

test('B06 a key is 256 bits of the random source it is given, whole', () => {
  const sizes: number[] = []
  const made = (fill: number) =>
    generateKey((size) => {
      sizes.push(size)
      return Buffer.alloc(size, fill)
    })
  const { key, sha256: digest } = made(7)
  expect(sizes).toEqual([32])
  expect(Buffer.from(key.slice('sk-copilot-proxy-'.length), 'base64url')).toEqual(Buffer.alloc(32, 7))
  expect(digest).toBe(sha256(key))
  expect(made(8).key).not.toBe(key)
})

test('B06 the random source is that of the operating system', async () => {
  const source = await readFile(fileURLToPath(new URL('../../src/commands/key.ts', import.meta.url)), 'utf8')
  expect(source).toMatch(/^import \{[^}]*\brandomBytes\b[^}]*\} from 'node:crypto'$/m)
  expect(source).toContain('generateKey(randomBytes)')
})

describe('B06 key add', () => {
  test('prints the key alone, once, and stores its hash in a file of its own', async () => {
    const { run, home } = await createUser()
    const { code, stdout, stderr } = await run('key add laptop')
    const key = stdout.trimEnd()
    expect([code, stdout]).toEqual([0, `${key}\n`])
    expect(key).toMatch(keyShape)
    const file = join(home, 'config.yaml')
    expect(stderr).toBe(
      `Created the key laptop. Copy it now: only its hash is stored, in ${file}.\n` +
        'From now on, every program must send a key.\n',
    )
    expect(await readFile(file, 'utf8')).toBe(`server:\n  api-keys:\n    - laptop:sha256:${sha256(key)}\n`)
    expect(await modeOf(file)).toBe(0o600)
    expect(await readdir(home)).toEqual(['config.yaml'])
    const other = (await run('key add')).stdout.trimEnd()
    expect(other).toMatch(keyShape)
    expect(other).not.toBe(key)
    expect(apiKeysOf(await readFile(file, 'utf8'))).toEqual([
      `laptop:sha256:${sha256(key)}`,
      `key-1:sha256:${sha256(other)}`,
    ])
    for (const command of ['key list', 'key list --json', 'config show', 'config check', 'status']) {
      const said = await run(command)
      expect([command, `${said.stdout}${said.stderr}`.includes(key.slice(-43))]).toEqual([command, false])
    }
  })

  test('prints JSON where asked to', async () => {
    const { run, home } = await createUser()
    const { code, stdout } = await run('key add laptop --json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      name: 'laptop',
      key: expect.stringMatching(keyShape),
      path: join(home, 'config.yaml'),
    })
  })

  test('keeps what is in the file, and makes it private', async () => {
    const { run, file, read } = await userWith('# mine\nserver:\n  port: 4242 # free\n\nlog: { level: warn }\n')
    await chmod(file, 0o644)
    const key = (await run('key add laptop')).stdout.trimEnd()
    expect(await read()).toBe(
      `# mine\nserver:\n  port: 4242 # free\n  api-keys:\n    - laptop:sha256:${sha256(key)}\n\nlog: { level: warn }\n`,
    )
    expect(await modeOf(file)).toBe(0o600)
  })

  test('makes the folder, private as well', async () => {
    const { run, home, env } = await createUser()
    delete env['COPILOT_PROXY_HOME']
    env['XDG_CONFIG_HOME'] = join(home, 'xdg')
    expect((await run('key add laptop')).code).toBe(0)
    expect(await modeOf(join(home, 'xdg', 'copilot-proxy'))).toBe(0o700)
  })

  test('writes through a symbolic link, which stays', async () => {
    const { run, home } = await createUser()
    const target = join(home, 'dotfiles', 'copilot-proxy.yaml')
    await mkdir(join(home, 'dotfiles'))
    await writeFile(target, 'log: { level: warn }\n')
    const link = join(home, 'config.yaml')
    await symlink('dotfiles/copilot-proxy.yaml', link)
    expect((await run('key add laptop')).code).toBe(0)
    expect(await readlink(link)).toBe('dotfiles/copilot-proxy.yaml')
    expect((await lstat(target)).isFile()).toBe(true)
    expect(await readFile(target, 'utf8')).toContain('laptop:sha256:')
    await rm(target)
    expect(await run('key add phone')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${link} links to a file that does not exist. Create that file, or remove the link.\n`,
    })
  })

  test('makes a configuration valid that lacks nothing but a key', async () => {
    const { run, read } = await userWith('server: { host: 0.0.0.0 }\n')
    expect((await run('config check')).code).toBe(2)
    expect((await run('key add laptop')).code).toBe(0)
    expect(await read()).toMatch(/^server: \{ host: 0\.0\.0\.0, api-keys: \[ laptop:sha256:[0-9a-f]{64} \] \}\n$/)
    expect((await run('config check')).code).toBe(0)
  })

  test('says that the environment wins over the file', async () => {
    const { run, env } = await createUser()
    env['COPILOT_PROXY_SERVER_API_KEYS'] = 'key-of-the-environment'
    expect((await run('key add laptop')).stderr).toContain(
      'Note: COPILOT_PROXY_SERVER_API_KEYS is set and overrides the keys in the file.\n',
    )
  })

  test.each([
    [
      'a name that is taken',
      `server: { api-keys: ["laptop:sha256:${hash}"] }\n`,
      'Laptop',
      2,
      'The key Laptop already exists.',
    ],
    ['a name that is no name', '', 'my/laptop', 2, 'use up to 64 letters'],
    ['a key in the place of the name', '', 'sk-made+up', 2, 'use up to 64 letters'],
    ['a name that is given to others', '', 'plain-1', 2, 'are for keys without a name'],
    ['a file that is not valid', 'log: { level: loud }\n', 'laptop', 2, ':1:15  log.level  expected one of'],
    ['a file that is not YAML', 'server: {\n', 'laptop', 2, 'was not changed'],
    [
      'a file with an alias in the way',
      'server: { api-keys: &k [a] }\nmodels: { hide: *k }\n',
      'laptop',
      1,
      'copilot-proxy cannot edit the YAML',
    ],
    ['a file that is full', `#${'x'.repeat(64 * 1024 - 80)}\n`, 'laptop', 1, 'become larger than 64 KiB'],
  ])('touches nothing where there is %s', async (_what, text, name, expectedCode, words) => {
    const { run, file, read, home } = await userWith(text)
    await utimes(file, 1, 1)
    const { code, stdout, stderr } = await run(`key add ${name}`)
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' })
    expect(stderr).toContain(words)
    expect(stderr).not.toContain('sk-made')
    expect(await read()).toBe(text)
    expect((await stat(file)).mtimeMs).toBe(1000)
    expect(await readdir(home)).toEqual(['config.yaml'])
  })
})

describe('a key that reaches nobody is not stored', () => {
  const lost = 'The key was not created, because it could not be printed.\n'

  test
    .skipIf(process.platform === 'win32')
    .each([
      ['closed', '>&-'],
      ['/dev/null', '>/dev/null'],
      ...(process.platform === 'linux' ? [['a full disk', '>/dev/full']] : []),
    ])('standard output is %s', async (_what, redirection) => {
    const { home } = await createUser()
    const env = { COPILOT_PROXY_HOME: home }
    const { code, stdout, stderr } = await startShell(`"$@" ${redirection}`, ['key', 'add', 'laptop'], env).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(lost)
    expect(stderr).not.toMatch(/sk-|internal error/)
    expect(await readdir(home)).toEqual([])
  })

  test('standard output is a pipe that nobody reads any more', async () => {
    const { home } = await createUser()
    const cli = startCli(['key', 'add', 'laptop', '--json'], { COPILOT_PROXY_HOME: home })
    cli.child.stdout?.destroy()
    expect(await cli.ended).toEqual({ code: 1, stdout: '', stderr: lost })
    expect(await readdir(home)).toEqual([])
  })

  test('and one that was printed but not stored is reported as useless', async () => {
    const { run, file, read } = await userWith('log: { level: warn }\n')
    const stdout = {
      ...recordOutput(),
      // As an editor would, while the key is on its way out.
      isDelivered: () => {
        writeFileSync(file, 'log: { level: debug }\n')
        return Promise.resolve(true)
      },
    }
    const { code, stderr } = await run('key add laptop', { stdout })
    expect(code).toBe(1)
    expect(stdout.text().trimEnd()).toMatch(keyShape)
    expect(stderr).toMatch(
      /^The key above is not valid, because it could not be stored\.\n\S+ was not changed, because another program/,
    )
    expect(await read()).toBe('log: { level: debug }\n')
  })
})

describe('key remove', () => {
  const text = `server:\n  api-keys:\n    - made-up-plain-key-0123\n    - laptop:sha256:${hash} # mine\n`

  test('takes a key out by its name, in any case', async () => {
    const { run, read, file } = await userWith(text)
    expect(await run('key remove LAPTOP')).toEqual({
      code: 0,
      stdout: '',
      stderr: `Removed the key laptop from ${file}.\n`,
    })
    expect(await read()).toBe('server:\n  api-keys:\n    - made-up-plain-key-0123\n')
    const last = await run('key remove plain-1 --json')
    expect(JSON.parse(last.stdout)).toEqual({ name: 'plain-1', path: file })
    expect(last.stderr).toBe(
      `Removed the key plain-1 from ${file}. It was the last key: from now on, programs need no key.\n`,
    )
    expect(apiKeysOf(await read())).toEqual([])
  })

  test('removes the limits of the key, and keeps those of other keys', async () => {
    const limits = '  key-limits:\n    phone: { models: [ gpt-5 ] }\n    Laptop: { credits-per-day: 5 } # of mine\n'
    const { run, read, file } = await userWith(`${text}    - phone:sha256:${'f'.repeat(64)}\n${limits}`)
    expect(await run('key remove laptop')).toEqual({
      code: 0,
      stdout: '',
      stderr: `Removed the key laptop and its limits from ${file}.\n`,
    })
    expect(await read()).toBe(
      `server:\n  api-keys:\n    - made-up-plain-key-0123\n    - phone:sha256:${'f'.repeat(64)}\n` +
        '  key-limits:\n    phone: { models: [ gpt-5 ] }\n',
    )
    await run('key remove phone')
    expect(await read()).toBe('server:\n  api-keys:\n    - made-up-plain-key-0123\n  key-limits: {}\n')
  })

  test('names those there are where the name is not among them', async () => {
    const { run, read, file } = await userWith(text)
    expect(await run('key remove phone')).toEqual({
      code: 1,
      stdout: '',
      stderr: `No key with that name in ${file}. The keys are plain-1, laptop.\n`,
    })
    expect(await read()).toBe(text)
    const without = await createUser()
    expect((await without.run('key remove phone')).stderr).toMatch(/config\.yaml\. There are no keys\.\n$/)
    expect(await readdir(without.home)).toEqual([])
  })

  test('of which other places make use is left to the user', async () => {
    const anchored = 'server: { api-keys: [&a made-up-plain-key-0123] }\nmodels: { hide: [*a] }\n'
    const { run, read, file } = await userWith(anchored)
    expect(await run('key remove plain-1')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${file} was not changed: copilot-proxy cannot edit the YAML of server.api-keys. Run: copilot-proxy config edit\n`,
    })
    expect(await read()).toBe(anchored)
  })

  test('does not open a daemon that others can reach', async () => {
    const open = `server: { host: 0.0.0.0, api-keys: ["laptop:sha256:${hash}"] }\n`
    const { run, read } = await userWith(open)
    const { code, stderr } = await run('key remove laptop')
    expect(code).toBe(2)
    expect(stderr).toContain('was not changed')
    expect(stderr).toContain('other machines could use copilot-proxy without a key')
    expect(await read()).toBe(open)
  })
})

test('key list shows the line, the limits and the use of the keys in force', async () => {
  const { run, file, env, home } = await userWith(
    `server:\n  api-keys:\n    - made-up-plain-key-0123\n    - laptop:sha256:${hash}\n` +
      '  key-limits: { laptop: { requests-per-minute: 30, credits-per-day: 50, models: ["gpt-*"] } }\n',
  )
  const store = openUsageStore(join(home, 'usage.sqlite'), { waitMs: 0 })
  const used = {
    ...noSums,
    provider: 'copilot',
    model: 'gpt-5-mini',
    key: 'laptop',
    keyId: 'a1',
    client: '',
    session: '',
    requests: 3,
  }
  const [yesterday, earlier] = [dayOf(Date.now(), 1), dayOf(Date.now(), 4)]
  store.add([
    { ...used, day: yesterday, utcDay: yesterday },
    { ...used, day: earlier, utcDay: earlier },
  ])
  store.close()
  expect((await run('key list')).stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['NAME', 'STORED', 'LIMITS', 'LAST USED', 'IN'],
    ['plain-1', 'plain text …0123', `${file}:3`],
    ['laptop', 'hash', '30 req/min, 50 credits/day, gpt-*', `${yesterday}, 6 req`, `${file}:4`],
    [''],
  ])
  const unlimited = { requests_per_minute: null, credits_per_day: null, models: null, account: null }
  const unused = { requests: 0, last_day: null, credits: null }
  const limits = { requests_per_minute: 30, credits_per_day: 50, models: ['gpt-*'], account: null }
  const { keys } = JSON.parse((await run('key list --json')).stdout)
  expect(keys).toEqual([
    { name: 'plain-1', stored: 'plain', source: `${file}:3`, ...unlimited, ...unused },
    { name: 'laptop', stored: 'hash', source: `${file}:4`, ...limits, requests: 6, last_day: yesterday, credits: null },
  ])
  await writeFile(file, '')
  env['COPILOT_PROXY_SERVER_API_KEYS'] = 'short'
  expect((await run('key list')).stdout).toMatch(/plain-1 +plain text … +COPILOT_PROXY_SERVER_API_KEYS\n/)
  expect(await (await createUser()).run('key list')).toEqual({
    code: 0,
    stdout: 'No keys. Programs on this machine need no key. To require one, run: copilot-proxy key add\n',
    stderr: '',
  })
})

describe('at the same time', () => {
  test('keys that are added are all kept', async () => {
    const { run, read } = await userWith('log: { level: warn }\n')
    const names = ['a', 'b', 'c', 'd', 'e']
    const added = await Promise.all(names.map((name) => run(`key add ${name}`)))
    expect(added.map(({ code }) => code)).toEqual(names.map(() => 0))
    expect(apiKeysOf(await read())).toEqual(
      expect.arrayContaining(added.map(({ stdout }, at) => `${names[at]}:sha256:${sha256(stdout.trimEnd())}`)),
    )
  })

  test('what an editor has saved in between is not lost', async () => {
    const { file, read } = await userWith('log: { level: warn }\n')
    const changed = changing(file, (text) => {
      // As an editor of another process would.
      writeFileSync(file, 'log: { level: debug }\n')
      return `${text}models: { hide: [a] }\n`
    })
    await expect(changed).rejects.toThrow('because another program changed')
    expect(await read()).toBe('log: { level: debug }\n')
  })
})

function changing(path: string, change: (text: string) => string): Promise<void> {
  return changeConfigFile({ path, signal: new AbortController().signal, now: Date.now }, change)
}

describe('a change is not made', () => {
  test('by one that has been taken for dead: its lock is another one’s', async () => {
    const { file, read } = await userWith('log: { level: warn }\n')
    const changed = changing(file, (text) => {
      rmSync(`${file}.lock`)
      writeFileSync(`${file}.lock`, JSON.stringify({ nonce: 'of another process' }))
      return `${text}models: { hide: [a] }\n`
    })
    await expect(changed).rejects.toThrow('because another program changed')
    expect(await read()).toBe('log: { level: warn }\n')
    expect(await readFile(`${file}.lock`, 'utf8')).toContain('of another process')
  })

  // Only root can make a file of somebody else.
  test.runIf(process.getuid?.() === 0)('to a file of another user, who could not read it any more', async () => {
    const { file, read, home } = await userWith('log: { level: warn }\n')
    await chown(file, 1234, 1234)
    const changed = changing(file, (text) => `${text}models: { hide: [a] }\n`)
    await expect(changed).rejects.toThrow(`${file} belongs to another user. Run this as that user.`)
    expect(await read()).toBe('log: { level: warn }\n')
    expect((await stat(file)).uid).toBe(1234)
    expect(await readdir(home)).toEqual(['config.yaml'])
  })
})

test('a configuration that is killed at any moment of its change is the old one or the new one', async () => {
  const { file, read, home, run } = await userWith('# kept\nlog: { level: warn }\n')
  const script = fileURLToPath(new URL('children/change-config.ts', import.meta.url))
  for (let round = 0; round < times(8); round += 1) {
    const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const gone = once(child, 'exit')
    await once(child.stdout, 'data')
    // Somewhere within one of its next changes, each a few milliseconds long.
    await delay((round * 7) % 23)
    child.kill('SIGKILL')
    await gone
    const text = await read()
    expect(text).toMatch(/^# kept\nlog: \{ level: warn \}\n/)
    expect([[], [`laptop:sha256:${hash}`]]).toContainEqual(apiKeysOf(text))
    expect((await run('config check')).code).toBe(0)
  }
  expect((await run('key add phone')).code).toBe(0)
  expect(await readdir(home)).toEqual(['config.yaml'])
})

test('P24 a running daemon still asks for keys when its configuration file is emptied, and says so', async () => {
  const { home, file } = await userWith('server: { api-keys: [made-up-plain-key-0123] }\n')
  const cli = startCli(['serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: home })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  const statusOf = async () => (await fetch(`${url}/v1/models`)).status
  expect(await statusOf()).toBe(401)
  await writeFile(file, '')
  await cli.seen('stderr', /the old settings remain in use: \S+config\.yaml +has no settings/)
  expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ config: 'invalid' })
  expect(await statusOf()).toBe(401)
  await writeFile(file, 'server: { api-keys: [] }\n')
  await cli.seen('stderr', /the last key was removed: copilot-proxy can be used without a key now/)
  expect(await statusOf()).toBe(200)
  expect(await (await fetch(`${url}/healthz`)).json()).not.toHaveProperty('config')
})

test('B04 B06 a running daemon honours a key that is added and refuses one that is removed', async () => {
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home }
  const cli = startCli(['serve', '--demo', '--port', '0'], env)
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  const statusOf = async (key?: string) =>
    (await fetch(`${url}/v1/models`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status
  expect(await statusOf()).toBe(200)

  const added = await startCli(['key', 'add', 'laptop'], env).ended
  const key = added.stdout.trimEnd()
  await expect.poll(() => statusOf(), { timeout: 20_000 }).toBe(401)
  expect(await statusOf(key)).toBe(200)
  const phone = (await startCli(['key', 'add', 'phone'], env).ended).stdout.trimEnd()
  await expect.poll(() => statusOf(phone), { timeout: 20_000 }).toBe(200)

  const stream = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-5-mini',
      stream: true,
      messages: [{ role: 'user', content: '[demo:long 500][demo:slow 1000]' }],
    }),
  })
  expect(stream.status).toBe(200)
  expect((await startCli(['key', 'remove', 'laptop'], env).ended).code).toBe(0)
  expect(await stream.text()).toContain('has been removed from server.api-keys')
  expect(await statusOf(key)).toBe(401)
  expect(await statusOf(phone)).toBe(200)
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.ended
  expect(code).toBe(0)
  expect(stderr).toMatch(/ {2}key laptop {2}/)
  for (const secret of [key, phone]) expect(stderr).not.toContain(secret.slice(-43))
})
