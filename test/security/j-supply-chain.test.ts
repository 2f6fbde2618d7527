import { execFile } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { runtimeWarning } from '../../src/commands/serve/start-checks.ts'
import { startCli } from '../cli/cli.ts'
import { createUser } from '../commands/harness.ts'
import { scanForSecrets } from './secret-scan.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

const lockFile = z.object({
  lockfileVersion: z.literal(3),
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      link: z.boolean().optional(),
      dev: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
      dependencies: z.record(z.string(), z.string()).optional(),
      devDependencies: z.record(z.string(), z.string()).optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

function readLock(): z.infer<typeof lockFile>['packages'] {
  return lockFile.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).packages
}

function installed(packages: ReturnType<typeof readLock>) {
  return Object.entries(packages).filter(([path]) => path !== '')
}

describe('J01 an install', () => {
  test('by the lock file is pinned to contents, and to no host: npm asks the registry that is in use', () => {
    const loose = installed(readLock()).filter(
      ([, { integrity = '', resolved, link }]) =>
        link === true || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) || resolved !== undefined,
    )
    expect(loose.map(([name]) => name)).toEqual([])
  })

  test('names exact versions, the ones of the lock file', async () => {
    const manifest = z
      .looseObject({
        devDependencies: z.record(z.string(), z.string()),
        optionalDependencies: z.record(z.string(), z.string()).default({}),
      })
      .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')))
    const packages = readLock()
    const { devDependencies, optionalDependencies = {} } = packages[''] ?? {}
    expect({ devDependencies, optionalDependencies }).toEqual({
      devDependencies: manifest.devDependencies,
      optionalDependencies: manifest.optionalDependencies,
    })
    const wanted = { ...manifest.devDependencies, ...manifest.optionalDependencies }
    for (const [name, version] of Object.entries(wanted)) {
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
    }
  })
})

test('J02 the package installs only the keychain and the parts of workspace tools, and runs no code when it is installed', () => {
  const packages = readLock()
  expect(packages['']?.dependencies).toBeUndefined()
  const shipped = installed(packages).filter(([, { dev }]) => dev !== true)
  expect(shipped.length).toBeGreaterThan(1)
  const optional = /^node_modules\/(?:@napi-rs\/keyring|@vscode\/(?:ripgrep|tree-sitter-wasm)|prettier$)/
  expect(shipped.filter(([path]) => !optional.test(path))).toEqual([])
  expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([])
})

const workflow = z.looseObject({
  on: z.unknown(),
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.looseObject({
      permissions: z.record(z.string(), z.string()).optional(),
      'timeout-minutes': z.number(),
      steps: z.array(
        z.looseObject({
          uses: z.string().optional(),
          run: z.string().optional(),
          with: z.record(z.string(), z.unknown()).optional(),
        }),
      ),
    }),
  ),
})

describe('J03 a workflow', () => {
  const dir = join(root, '.github/workflows')
  const files = readdirSync(dir)
  const actions = /^actions\/(?:attest|checkout|(?:download|upload)-artifact|setup-node)@[0-9a-f]{40}$/
  /** The jobs that have more rights than to read. */
  const publishers = new Map<string, Record<string, string>>([
    ['publish', { contents: 'read', 'id-token': 'write' }],
    ['image', { contents: 'read', packages: 'write' }],
    ['attach', { attestations: 'write', contents: 'write', 'id-token': 'write' }],
  ])

  test('is there for checks and for publishing', () => {
    expect(files.toSorted()).toEqual(['ci.yml', 'publish.yml'])
  })

  test.each(files)('%s runs pinned actions with few rights and no stored token', (file) => {
    const text = readFileSync(join(dir, file), 'utf8')
    const { on, permissions, jobs } = workflow.parse(parse(text))
    expect(permissions).toEqual({ contents: 'read' })
    expect(JSON.stringify(on)).not.toContain('pull_request_target')
    expect(text).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
    for (const [name, job] of Object.entries(jobs)) {
      expect([name, job.permissions]).toEqual([name, file === 'publish.yml' ? publishers.get(name) : undefined])
      // Code of other packages runs in none of the jobs that may write.
      const scripts = job.steps.map((step) => step.run ?? '').join('\n')
      if (job.permissions !== undefined) expect(scripts).not.toMatch(/\bnpm (?:ci|install|run|test|exec)|\bnpx|\bnode /)
      for (const { uses, run: script = '', with: inputs = {} } of job.steps) {
        if (uses !== undefined) expect(uses).toMatch(actions)
        if (uses?.startsWith('actions/checkout@')) expect(inputs).toMatchObject({ 'persist-credentials': false })
        // Text of a pull request in a script would be run by it.
        expect(script).not.toContain('${{')
      }
    }
    for (const [, version] of text.matchAll(/uses: \S+@[0-9a-f]{40}(.*)/g))
      expect(version).toMatch(/^ # v\d+\.\d+\.\d+$/)
  })

  test('J01 ci.yml checks the signatures of what was installed', () => {
    const { jobs } = workflow.parse(parse(readFileSync(join(dir, 'ci.yml'), 'utf8')))
    expect(jobs['check']?.steps.map(({ run: script }) => script).slice(-2)).toEqual([
      './.ci/run',
      'npm audit signatures',
    ])
  })

  describe('publish.yml', () => {
    const { jobs } = workflow.parse(parse(readFileSync(join(dir, 'publish.yml'), 'utf8')))
    const scriptsOf = (name: string): readonly string[] =>
      (jobs[name]?.steps ?? []).map(({ run: script = '' }) => script)
    const uploadOf = (name: string) => jobs[name]?.steps.find(({ uses }) => uses?.startsWith('actions/upload'))?.with
    const downloadOf = (name: string) =>
      jobs[name]?.steps.find(({ uses }) => uses?.startsWith('actions/download'))?.with

    test('checks the release and tests everything before anything is published', () => {
      expect(scriptsOf('check')).toEqual(expect.arrayContaining(['node release/check-release.ts', './.ci/run']))
      const needs = Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job['needs']]))
      expect(needs).toEqual({ publish: 'check', image: 'check', 'single-file': 'check', attach: 'single-file' })
    })

    test('publishes the packed file that was tested, with provenance', () => {
      expect(scriptsOf('check').at(-2)).toMatch(
        /^PACKAGE_FILE=\$\(echo "\$PWD"\/packed\/\*\.tgz\) npx vitest run test\/cli\/package/,
      )
      expect(uploadOf('check')).toMatchObject({ name: 'package', path: 'packed' })
      expect(downloadOf('publish')).toEqual({ name: 'package', path: 'packed' })
      expect(scriptsOf('publish').at(-1)).toContain(
        'npm publish ./packed/*.tgz --provenance --access public --tag "$name"',
      )
    })

    test('pushes the image with the rights of its run', () => {
      expect(scriptsOf('image').at(-1)).toBe('./release/push-image')
    })

    test('builds the single files, and adds them to the release with checksums', () => {
      const strategy = jobs['single-file']?.['strategy']
      const { matrix } = z
        .object({ matrix: z.object({ include: z.array(z.object({ system: z.string() })) }) })
        .parse(strategy)
      expect(matrix.include.map(({ system }) => system)).toEqual([
        'linux-x64',
        'linux-arm64',
        'macos-arm64',
        'macos-x64',
        'windows-x64',
      ])
      expect(scriptsOf('single-file')).toContain('npm run build:sea')
      expect(uploadOf('single-file')?.['name']).toMatch(/^copilot-proxy-/)
      expect(downloadOf('attach')).toMatchObject({ pattern: 'copilot-proxy-*', path: 'files' })
      expect(scriptsOf('attach')).toEqual(
        expect.arrayContaining([
          'cd files && sha256sum * > SHA256SUMS',
          'gh release upload "$TAG" files/* --repo "$REPOSITORY"',
        ]),
      )
    })
  })
})

describe('J05 the search for secrets', () => {
  // In two pieces, or it would be found here.
  const planted = [
    ['gh', 'o_Zk3WdGh7Qm2Xr9Lp4Vt8Cp5Hv1Na7Sq3Ye9B'],
    ['github', '_pat_11ZK3WDGH0Qm2Xr9Lp4Vt8Cp5Hv1Na7Sq3Ye9BtJt4Nc8Bx2Fy6'],
    ['ti', 'd=3f9c1b7e5d2a4860b1c7;exp=1795306207;sku=free_limited_copilot;st=dotcom:9c1b7e5d2a'],
    ['s', 'k-proj-Zk3WdGh7Qm2Xr9Lp4Vt8Cp5Hv1'],
    ['r', 't_Zk3WdGh7Qm2Xr9Lp4Vt8Cp5Hv1Na7Sq3Ye9B'],
    ['ey', 'JhbGciOiJSUzI1NiIsInR5cCI6.eyJzdWIiOiIxMjM0NTY3ODkwIiwi.Zk3WdGh7Qm2Xr9Lp4Vt8Cp5Hv1'],
    ['npm', '_Zk3WdGh7Qm2Xr9Lp4Vt8Cp5Hv1Na7Sq3Ye9B'],
    ['AKI', 'AZK3WDGH7QM2XR9LP'],
    ['-----BEGIN ', 'PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA'],
  ].map((pieces) => pieces.join(''))

  test.each(planted.map((secret) => [secret.slice(0, 6), secret]))(
    'finds one that is planted: %s…',
    (_start, secret) => {
      expect(scanForSecrets(`before\n{"token": "${secret}"}\nafter`)).toMatchObject([{ line: 2 }])
    },
  )

  test('passes over what says that it is made up', () => {
    expect(scanForSecrets('ghu_example0123456789abcdefghijklmnopqrstuvwxyz sk-demo-key-for-nobody-at-all')).toEqual([])
  })

  test('finds none in any file of the repository', async () => {
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
    // A link leads to what is not in the repository, or to what is looked at anyway.
    const files = stdout.split('\0').filter((path) => path !== '' && isFile(join(root, path)))
    expect(files.length).toBeGreaterThan(300)
    const findings = files.map((path) => [path, scanForSecrets(readFileSync(join(root, path), 'utf8'))] as const)
    expect(findings.filter(([, found]) => found.length > 0)).toEqual([])
  })

  test('finds none in the newest megabytes of the history', async () => {
    const newest = 50 * 1024 * 1024
    // Only what was added: what was taken out has been added before.
    const log = await run(
      'git',
      ['log', '-p', '--all', '--no-color', '--no-ext-diff', '--no-textconv', '--unified=0'],
      {
        cwd: root,
        maxBuffer: newest,
      },
    ).catch((error: unknown) => {
      // A longer history ends here; its newest part has been read.
      if (error instanceof RangeError && 'stdout' in error) return { stdout: String(error.stdout) }
      throw error
    })
    expect(scanForSecrets(log.stdout)).toEqual([])
  })
})

describe('J06 a version', () => {
  const floors = {
    // CVE-2026-33806: a blank before the content type went round the checks of bodies (GHSA-247c-9743-5963).
    fastify: [5, 8, 5],
    // CVE-2026-22036: a chain of encodings was unpacked without end.
    undici: [7, 18, 2],
    // Floors for parts that may come in by others.
    ws: [8, 21, 0],
    diff: [8, 0, 3],
  } as const

  test.each(Object.entries(floors))('of %s is at %j or above, wherever it is installed', (name, floor) => {
    const found = installed(readLock()).filter(([path]) => path.endsWith(`node_modules/${name}`))
    for (const [path, { version = '' }] of found) {
      const parts = version.split('.').map(Number)
      const difference = floor.map((least, i) => (parts[i] ?? 0) - least).find((step) => step !== 0) ?? 0
      expect([path, version, difference >= 0]).toEqual([path, version, true])
    }
    if (name === 'fastify' || name === 'undici') expect(found).not.toEqual([])
  })

  test.each([
    ['v24.21.0', undefined],
    ['v24.18.1', undefined],
    ['v26.5.1', undefined],
    ['v28.0.0', undefined],
    ['v24.18.0', 'Node.js v24.18.0 has known vulnerabilities. Update to 24.18.1 or newer.'],
    ['v22.19.0', 'Node.js v22.19.0 has known vulnerabilities. Update to 22.23.2 or newer.'],
    ['v26.5.1-rc.1', undefined],
    ['v23.11.1', 'Node.js 23 no longer gets security fixes. Install Node.js 24 or newer.'],
    ['v25.9.0', 'Node.js 25 no longer gets security fixes. Install Node.js 24 or newer.'],
  ])('%s of Node.js is warned of: %s', (version, warning) => {
    expect(runtimeWarning(version)).toBe(warning)
  })

  test('of Node.js below the patched ones is reported when the daemon starts, and a patched one is not', async () => {
    const { home } = await createUser()
    const start = (version: string) =>
      startCli(['serve', '--demo', '--port', '0'], {
        COPILOT_PROXY_HOME: home,
        NODE_OPTIONS: `--import "data:text/javascript,Object.defineProperty(process,%22version%22,{value:%22${version}%22})"`,
      })
    const old = start('v24.1.0')
    await old.seen('stderr', /WARN Node\.js v24\.1\.0 has known vulnerabilities\. Update to 24\.18\.1 or newer\.$/m)
    old.child.kill('SIGTERM')
    await old.ended
    const patched = start('v24.99.0')
    await patched.seen('stdout', /listening on/)
    patched.child.kill('SIGTERM')
    expect((await patched.ended).stderr).not.toContain('known vulnerabilities')
  }, 30_000)
})

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Runs the audit of the repository with an npm that answers this. */
async function audit(answer: string): Promise<{ readonly code: number; readonly said: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-audit-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, 'answer.json'), answer)
  await writeFile(join(dir, 'npm'), `#!/bin/sh\ncat '${dir}/answer.json'\nexit 1\n`)
  await chmod(join(dir, 'npm'), 0o755)
  const env = { PATH: [dir, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter) }
  return run(join(root, '.ci/audit'), { env }).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      said: error.stdout + error.stderr,
    }),
  )
}

describe.skipIf(process.platform === 'win32')('J06 the audit', () => {
  const counts = { info: 0, low: 0, moderate: 0, high: 0, critical: 0 }

  test('fails for a vulnerability of high severity, by name', async () => {
    const vulnerabilities = { badlib: { name: 'badlib', severity: 'high', range: '<2.0.0' } }
    const report = { vulnerabilities, metadata: { vulnerabilities: { ...counts, high: 1 } } }
    expect(await audit(JSON.stringify(report))).toEqual({
      code: 1,
      said: expect.stringContaining('badlib <2.0.0: high'),
    })
  })

  test('passes where there is none, or a lesser one', async () => {
    const report = { vulnerabilities: {}, metadata: { vulnerabilities: { ...counts, low: 1 } } }
    expect(await audit(JSON.stringify(report))).toEqual({ code: 0, said: expect.stringContaining('no known') })
  })

  test.each([
    ['a registry without advisories', JSON.stringify({ statusCode: 405, error: { summary: '' } }), 'it answered 405'],
    ['no network', JSON.stringify({ message: 'request failed', error: { summary: '' } }), 'it did not answer'],
    ['an npm that says nothing', '', 'it did not answer'],
  ])('says in a sentence that it could not be made: %s', async (_what, answer, words) => {
    expect(await audit(answer)).toEqual({
      code: 0,
      said: `Not audited: the registry offers no advisories here (${words}).\n`,
    })
  })

  test('fails where npm has nothing to audit by', async () => {
    const answer = JSON.stringify({
      error: { code: 'ENOLOCK', summary: 'This command requires an existing lockfile.' },
    })
    expect(await audit(answer)).toEqual({
      code: 1,
      said: 'npm could not audit: This command requires an existing lockfile.\n',
    })
  })
})
