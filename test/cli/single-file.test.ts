import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { config as builtWith, version as nodeVersion } from 'node:process'
import { fileURLToPath } from 'node:url'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { buildIfChanged } from '../build-program.ts'
import { createUser } from '../commands/harness.ts'
import { startSingleFile } from './cli.ts'

// The program and Node.js in one file. None of the tests passes a PATH, so it can use nothing else.

const root = fileURLToPath(new URL('../..', import.meta.url))
const isPossible = 'single_executable_application' in builtWith.variables

beforeAll(async () => {
  if (isPossible) await buildIfChanged('build:sea', 'dist-sea/copilot-proxy')
}, 120_000)

beforeEach(({ skip }) => skip(!isPossible, 'This Node.js was built without single executable applications.'))

function readBuilt(file: string): Promise<string> {
  return readFile(join(root, 'dist-sea', file), 'utf8')
}

async function createHome(): Promise<Record<string, string>> {
  const { home } = await createUser()
  return { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '0' }
}

test('prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(await startSingleFile(['--version'], {}).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('serves the demo', async () => {
  const cli = startSingleFile(['serve', '--demo'], await createHome())
  const [, url] = await cli.seen('stdout', /listening on (\S+)\n/)
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello' }] }),
  })
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: expect.stringContaining('hello') } }] })
  cli.child.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0 })
})

test('starts itself in the background', async () => {
  const home = await createHome()
  const started = await startSingleFile(['serve', '--demo', '--detach'], home).ended
  const stopped = await startSingleFile(['stop'], home).ended
  expect([started, stopped]).toMatchObject([{ code: 0 }, { code: 0 }])
})

test('checks itself with doctor', async () => {
  // No proxy listens there, so no check leaves this machine.
  const env = { ...(await createHome()), HTTPS_PROXY: 'http://127.0.0.1:9' }
  const { code, stdout } = await startSingleFile(['doctor', '--json'], env).ended
  expect(code).toBe(1)
  expect(stdout).toContain(`Node.js ${nodeVersion}`)
})

test('leaves the keychain out, and says what to do', async () => {
  const env = { ...(await createHome()), COPILOT_PROXY_AUTH_STORE: 'keychain', COPILOT_GITHUB_TOKEN: '' }
  const { code, stderr } = await startSingleFile(['login', '--token-stdin'], env).ended
  expect(code).toBe(1)
  expect(stderr).toContain('the single-file program has no access to it. Install copilot-proxy with npm')
})

test('lists Node.js among its parts, with its licence', async () => {
  const { components } = JSON.parse(await readBuilt('sbom.json')) as { components: { purl: string }[] }
  expect(components.map(({ purl }) => purl)).toContain(`pkg:generic/node@${nodeVersion.slice(1)}`)
  expect(await readBuilt('THIRD_PARTY_LICENSES.txt')).toContain('Node.js is licensed for use as follows')
})
