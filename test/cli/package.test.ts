import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProcess, withoutHome } from './cli.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
let dir = ''
let files: readonly string[] = []

// What `npm pack` makes, unpacked in a folder without any other package: all it runs on is inside.
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-package-'))
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], { cwd: root })
  // npm prints what its scripts say before the JSON.
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('\n[') + 1)) as [
    { filename: string; files: { path: string }[] },
  ]
  files = packed.files.map(({ path }) => path)
  await run('tar', ['-xzf', join(dir, packed.filename), '-C', dir])
}, 60_000)

afterAll(() => rm(dir, { recursive: true, force: true }))

describe('J04 the packed program', () => {
  test('holds what runs and what a user reads, nothing else', () => {
    // No source maps, no types, no tests, nothing that begins with a dot.
    const other = files.filter((path) => !/^dist\/[a-z0-9-]+\.js$/.test(path)).toSorted()
    expect(other).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin/copilot-proxy.cjs',
      'config.example.yaml',
      'dist/licences.txt',
      'package.json',
    ])
    expect(files.filter((path) => /test|fixture|bench/.test(path))).toEqual([])
  })

  test('brings the licences of the packages inside it', async () => {
    const licences = await readFile(join(dir, 'package', 'dist', 'licences.txt'), 'utf8')
    for (const name of ['fastify', 'undici', 'eventsource-parser', 'zod', 'pino', 'yaml', 'commander', 'tokenx']) {
      expect(licences).toMatch(new RegExp(String.raw`^${name} \d+\.\d+\.\d+ \(MIT|^${name} \d+\.\d+\.\d+ \(ISC`, 'm'))
    }
    expect(licences).toContain('Permission is hereby granted')
  })

  test('names its functions, for stacks, and is ASCII, which V8 keeps in half the memory', async () => {
    const code = await readFile(join(dir, 'package', 'dist', 'main.js'), 'latin1')
    expect(code).toMatch(/function readVersion\(/)
    expect(code).toMatch(/^[\0-\x7f]+$/)
  })

  test.each([{}, { COPILOT_PROXY_HOME: '/nowhere/at/all' }])('starts without a home folder, with %o', async (env) => {
    const bin = join(dir, 'package', 'bin', 'copilot-proxy.cjs')
    const cli = startProcess([bin, '--version'], { ...withoutHome, ...env })
    expect(await cli.ended).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' })
  })

  test('makes no folder where it is started for a COPILOT_PROXY_HOME that is refused', async () => {
    const cwd = await mkdtemp(join(dir, 'cwd-'))
    const bin = join(dir, 'package', 'bin', 'copilot-proxy.cjs')
    const cli = startProcess([bin, 'config', 'path'], { COPILOT_PROXY_HOME: 'relative' }, { cwd })
    expect(await cli.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('must be an absolute path') })
    expect(await readdir(cwd)).toEqual([])
  })

  test('serves, answers and stops', async () => {
    const bin = join(dir, 'package', 'bin', 'copilot-proxy.cjs')
    const cli = startProcess([bin, 'serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: join(dir, 'home') })
    const [, url] = await cli.seen('stdout', /listening on (\S+)\n/)
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello' }] }),
    })
    expect(await answer.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: expect.stringContaining('Say hello') } }],
    })
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toMatchObject({ code: 0 })
  })
})
