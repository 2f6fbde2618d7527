import { cp, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch, platform, version } from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProcess } from './cli.ts'

// A copy of the program without the compiled code that the build makes, as in the package.

const root = fileURLToPath(new URL('../..', import.meta.url))
let dir = ''

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-code-'))
  for (const part of ['bin', 'dist', 'package.json']) await cp(join(root, part), join(dir, part), { recursive: true })
  await rm(join(dir, 'dist/code-cache'), { recursive: true, force: true })
})

afterAll(() => rm(dir, { recursive: true, force: true }))

function start(home: string, ...args: string[]) {
  return startProcess([join(dir, 'bin/copilot-proxy.cjs'), ...args], {
    COPILOT_PROXY_HOME: home,
    NODE_DISABLE_COMPILE_CACHE: undefined,
  })
}

function codeDir(home: string): string {
  return join(home, 'cache', `${version}-${platform}-${arch}`)
}

/** When each file was written: it is written again only if V8 refused it. */
async function written(home: string): Promise<readonly string[]> {
  const names = await readdir(codeDir(home))
  return Promise.all(names.map(async (name) => `${name} ${(await stat(join(codeDir(home), name))).mtimeMs}`))
}

test('a daemon that answered requests leaves compiled code that its next start uses', async () => {
  const home = await mkdtemp(join(dir, 'home-'))
  const serve = async () => {
    const cli = start(home, 'serve', '--demo', '--port', '0')
    const [, url] = await cli.seen('stdout', /listening on (\S+)\n/)
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello' }] }),
    })
    expect(answer.status).toBe(200)
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toMatchObject({ code: 0 })
    return written(home)
  }
  const first = await serve()
  expect(first.join('\n')).toContain('daemon.cjs ')
  expect(await serve()).toEqual(first)
})

test.each([
  ['damaged', (bytes: Buffer) => bytes.fill(0, bytes.length - 100)],
  ['cut', (bytes: Buffer) => bytes.subarray(0, 5)],
  ['of another program', (bytes: Buffer) => bytes.fill(0, 0, 4)],
])('replaces compiled code that is %s', async (_, change) => {
  const home = await mkdtemp(join(dir, 'home-'))
  const printed = await start(home, '--version').ended
  const file = join(codeDir(home), 'main.cjs')
  const whole = await readFile(file)
  const changed = Buffer.from(change(Buffer.from(whole)))
  await writeFile(file, changed)
  expect(await start(home, '--version').ended).toEqual(printed)
  expect((await readFile(file)).equals(changed)).toBe(false)
  expect((await readFile(file)).readUInt32LE(0)).toBe(whole.readUInt32LE(0))
})

test('starts where compiled code cannot be kept', async () => {
  const home = await mkdtemp(join(dir, 'home-'))
  await symlink('/dev/null', join(home, 'cache'))
  expect(await start(home, '--version').ended).toMatchObject({ code: 0, stderr: '' })
})
