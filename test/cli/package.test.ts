import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startProcess, withoutHome } from './cli.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
let dir = ''
let archive = ''
let files: readonly string[] = []

const lockFile = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), integrity: z.string().optional() })),
})

const cyclonedx = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  metadata: z.object({ component: z.object({ purl: z.string() }) }),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      // Another licence is to be looked at before it ships.
      licenses: z.tuple([
        z.object({ license: z.object({ id: z.enum(['MIT', 'ISC', 'BSD-3-Clause', 'Apache-2.0']) }) }),
      ]),
      hashes: z.tuple([z.object({ alg: z.literal('SHA-512'), content: z.string() })]),
    }),
  ),
})

// What `npm pack` makes, or the package that is about to be published, unpacked in a folder without any other package: all it runs on is inside.
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-package-'))
  archive = process.env['PACKAGE_FILE'] ?? (await pack())
  const { stdout } = await run('tar', ['-tzf', archive])
  files = stdout
    .trimEnd()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''))
  await run('tar', ['-xzf', archive, '-C', dir])
}, 60_000)

async function pack(): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir], { cwd: root })
  // npm prints what its scripts say before the JSON.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('\n[') + 1)) as [{ filename: string }]
  return join(dir, filename)
}

function readBuilt(file: string): Promise<string> {
  return readFile(join(dir, 'package', 'dist', file), 'utf8')
}

afterAll(() => rm(dir, { recursive: true, force: true }))

describe('J04 the packed program', () => {
  test('holds what runs and what a user reads, nothing else', () => {
    // No source maps, no types, no tests, nothing that begins with a dot.
    const other = files.filter((path) => !/^dist\/[a-z0-9-]+\.cjs$/.test(path)).toSorted()
    expect(other).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin/copilot-proxy.cjs',
      'bin/load-program.cjs',
      'config.example.yaml',
      'dist/THIRD_PARTY_LICENSES.txt',
      'dist/sbom.json',
      'package.json',
    ])
    expect(files.filter((path) => /test|fixture|bench/.test(path))).toEqual([])
  })

  test('lists the packages inside it in an SBOM, as the lock file has them', async () => {
    const sbom = cyclonedx.parse(JSON.parse(await readBuilt('sbom.json')))
    const lock = lockFile.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')))
    const locked = new Map(
      Object.entries(lock.packages).map(([path, { version, integrity = '' }]) => [
        `${path.replace(/.*node_modules\//, '')} ${version}`,
        Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
      ]),
    )
    for (const { name, version, purl, hashes } of sbom.components) {
      expect([name, hashes[0].content]).toEqual([name, locked.get(`${name} ${version}`)])
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`)
    }
    const used = [
      'commander',
      'eventsource-parser',
      'fastify',
      'jsonc-parser',
      'pino',
      'tokenx',
      'undici',
      'yaml',
      'zod',
    ]
    expect(sbom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(used))
    // These build and test it.
    expect(sbom.components.filter(({ name }) => /rolldown|vitest|typescript|postject|msw/.test(name))).toEqual([])
    expect(sbom.metadata.component.purl).toBe(`pkg:npm/copilot-proxy@${lock.packages['']?.version}`)
  })

  test('brings the licence of each package in the SBOM', async () => {
    const { components } = cyclonedx.parse(JSON.parse(await readBuilt('sbom.json')))
    const notices = (await readBuilt('THIRD_PARTY_LICENSES.txt')).split(`${'-'.repeat(80)}\n\n`)
    for (const { name, version, licenses } of components) {
      const title = `${name} ${version} (${licenses[0].license.id})\n\n`
      const notice = notices.find((text) => text.startsWith(title)) ?? ''
      expect([title, notice]).toEqual([title, expect.stringMatching(/copyright/i)])
      expect([title, notice]).toEqual([title, expect.stringMatching(/permission|redistribution/i)])
    }
  })

  test('names its functions, for stacks, and is ASCII, which V8 keeps in half the memory', async () => {
    const code = await readFile(join(dir, 'package', 'dist', 'main.cjs'), 'latin1')
    expect(code).toMatch(/function createUnfinished\(/)
    expect(code).toMatch(/^[\0-\x7f]+$/)
  })

  test.each([{}, { COPILOT_PROXY_HOME: '/nowhere/at/all' }])('starts without a home folder, with %o', async (env) => {
    const bin = join(dir, 'package', 'bin', 'copilot-proxy.cjs')
    const cli = startProcess([bin, '--version'], { ...withoutHome, ...env })
    expect(await cli.ended).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' })
  })

  test('runs with npx in an empty home, without the registry', async () => {
    const home = await mkdtemp(join(dir, 'npx-'))
    await copyFile(archive, join(home, 'package.tgz'))
    const env = { PATH: process.env['PATH'], HOME: home, npm_config_offline: 'true' }
    const { stdout } = await run('npx', ['--yes', './package.tgz', '--version'], { cwd: home, env })
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
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
