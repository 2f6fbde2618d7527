import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { codexRecordKind } from '../../src/auth/codex/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { codexRecord, startIssuer } from '../auth/codex/support.ts'
import { recordingLog } from '../auth/support.ts'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { startCli, startProcess, startShell, withoutHome } from './cli.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

test('prints the version of the package', async () => {
  const { stdout, ...rest } = await startCli(['--version'], {}).ended
  expect(rest).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('the sources start without a build', async () => {
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  expect(await startProcess([main, '--version'], {}).ended).toMatchObject({ code: 0, stderr: '' })
})

test('a reader that leaves early is no failure', async () => {
  const { home } = await createUser()
  const cli = startCli(['config', 'show'], { COPILOT_PROXY_HOME: home })
  cli.child.stdout?.destroy()
  expect(await cli.ended).toMatchObject({ code: 0, stderr: '' })
})

describe.runIf(process.platform === 'linux')('standard output that cannot be written', () => {
  test('ends a command with 1 and one sentence', async () => {
    const { home } = await createUser()
    const cli = startShell('"$@" > /dev/full', ['config', 'show'], { COPILOT_PROXY_HOME: home })
    expect(await cli.ended).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Standard output could not be written: .*no space left on device.*\n$/),
    })
  })

  test('F07 does not end a daemon, which says so', async () => {
    const { home } = await createUser()
    const env = { COPILOT_PROXY_HOME: home }
    const cli = startShell('exec "$@" > /dev/full', ['serve', '--demo', '--port', '0'], env)
    await cli.seen('stderr', /Standard output could not be written/)
    const [, url] = await cli.seen('stderr', /curl (http:\/\/[^/]+)/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toMatchObject({ code: 1 })
  })
})

test('works in a working directory that has been deleted', async () => {
  const { home } = await createUser()
  const gone = await mkdtemp(join(tmpdir(), 'copilot-proxy-gone-'))
  const env = { COPILOT_PROXY_HOME: home, GONE: gone }
  const cli = startShell('cd "$GONE"; rmdir "$GONE"; exec "$@"', ['config', 'path'], env)
  expect(await cli.ended).toEqual({ code: 0, stdout: `${home}/config.yaml\n`, stderr: '' })
})

test('needs no home folder if another folder is configured', async () => {
  const { home } = await createUser()
  const started = startCli(['config', 'path'], { COPILOT_PROXY_HOME: home, ...withoutHome })
  expect(await started.ended).toMatchObject({ code: 0, stderr: '' })
  expect(await startCli(['config', 'path'], withoutHome).ended).toEqual({
    code: 1,
    stdout: '',
    stderr: 'You have no home folder. Set HOME or COPILOT_PROXY_HOME.\n',
  })
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('F02 a second signal (%s) ends a shutdown that waits for an answer', async (second, code) => {
  const { home } = await createUser()
  const cli = startCli(['serve', '--demo', '--port', '0'], { COPILOT_PROXY_HOME: home })
  const [, url] = await cli.seen('stdout', /listening on (\S+)/)
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-5-mini',
      stream: true,
      messages: [{ role: 'user', content: '[demo:long 500][demo:slow 1000]' }],
    }),
  })
  expect(answer.status).toBe(200)
  cli.child.kill('SIGTERM')
  await cli.seen(
    'stderr',
    /stopping when the running requests have finished; send the signal again to stop immediately/,
  )
  cli.child.kill(second)
  expect(await cli.ended).toMatchObject({ code })
})

test('a second signal lets a renewal of the ChatGPT login be stored first, and waits for nothing else', async () => {
  const { home } = await createUser()
  const issuer = await startIssuer()
  onTestFinished(() => issuer.close())
  const answer = Promise.withResolvers<void>()
  issuer.holdReplies(answer.promise)
  const arrived = new Promise<void>((resolve) => issuer.onArrival(resolve))
  const store = createRecordStore({ kind: codexRecordKind, dir: join(home, 'auth'), log: recordingLog() })
  await store.write(codexRecord(Date.now(), 4000, { issuer: issuer.url }))
  const cli = startCli(['serve', '--port', '0'], { COPILOT_PROXY_HOME: home, COPILOT_PROXY_CODEX_ISSUER: issuer.url })
  await cli.seen('stdout', /listening on (\S+)/)
  await arrived
  cli.child.kill('SIGTERM')
  await cli.seen(
    'stderr',
    /stopping when the running requests have finished; send the signal again to stop immediately/,
  )
  cli.child.kill('SIGTERM')
  cli.child.kill('SIGTERM')
  // Both signals are there before the answer is.
  await setTimeout(300)
  answer.resolve()
  // 143 is the exit of the second signal; the first one’s is 0.
  expect(await cli.ended).toMatchObject({ code: 143 })
  expect((await store.current())?.metadata.refresh_token).toBe('rt-example-1')
  expect(issuer.presented).toEqual(['rt-example-0'])
})

test('F09 a defect ends the process with 1 and a message without secrets', async () => {
  const { home } = await createUser()
  const defect = `data:text/javascript,setTimeout(() => Promise.reject(new Error('lost ghu_example')), 500)`
  const github = await openGithub()
  const cli = startCli(['login'], {
    COPILOT_PROXY_HOME: home,
    ...githubVariables(github),
    NODE_OPTIONS: `--import "${defect}"`,
  })
  const { code, stderr } = await cli.ended
  expect(code).toBe(1)
  expect(stderr).toContain('copilot-proxy: internal error\nError: lost [redacted]')
})

test('the installed command names the ways out on a Node that is too old', async () => {
  const bin = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))
  const oldNode = `Object.defineProperties(process, { versions: { value: { node: '18.20.4' } }, version: { value: 'v18.20.4' } })`
  const child = spawn(process.execPath, ['--import', `data:text/javascript,${oldNode}`, bin, 'serve'], { env: {} })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  const code = await new Promise((resolve) => {
    child.once('close', resolve)
  })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'copilot-proxy needs Node.js 22.19 or newer. This is Node.js v18.20.4.\n' +
      'Install Node.js 24 from https://nodejs.org or with a version manager (nvm install 24), and run the command again.\n' +
      'In a clone of copilot-proxy, any Node.js from version 20 is enough: npm ci && npm start\n',
  })
})
