import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { findProcessStart } from '../../src/auth/records/process-start.ts'
import { createTokenFiles, readRunningGateways, removeStaleTokens } from '../../src/gateway/token-files.ts'
import { recordingLog } from '../recording-log.ts'
import { makeFolder } from '../tools/session.ts'
import { bind, openTestGateway } from './support.ts'

const processStart = (pid: number) => findProcessStart(pid, process)

async function folders() {
  const dir = await makeFolder()
  return { ownDir: join(dir, 'own'), discoveryDir: join(dir, 'copilot', 'extensions', 'tap') }
}

function open(dirs: { readonly ownDir: string; readonly discoveryDir: string }) {
  const log = recordingLog()
  const files = createTokenFiles({ ...dirs, pid: process.pid, processStart, log })
  const publish = (token: string) =>
    files.publish({ started_at: 'now', url: 'ws://127.0.0.1:9400', problem: null, control_key: 'ctl', token })
  onTestFinished(files.withdraw)
  return { ...files, publish, log: log.lines, file: join(dirs.discoveryDir, '.provider-token') }
}

/** Starts another daemon that publishes its token. */
async function otherDaemon(dirs: { readonly ownDir: string; readonly discoveryDir: string }, token: string) {
  const child = spawn(execPath, [
    fileURLToPath(new URL('children/hold-token.ts', import.meta.url)),
    dirs.ownDir,
    dirs.discoveryDir,
    token,
  ])
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  await once(child.stdout, 'data')
  return {
    async kill() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

it('the token file is where providers look, readable by this user only, and removed when the gateway closes', async () => {
  const dirs = await folders()
  const { publish, withdraw, file } = open(dirs)
  await publish('ptk-one')
  expect(await readFile(file, 'utf8')).toBe('ptk-one')
  expect(await modeOf(file)).toBe('600')
  expect(await modeOf(dirs.discoveryDir)).toBe('700')
  const own = join(dirs.ownDir, `${process.pid}.json`)
  expect(JSON.parse(await readFile(own, 'utf8'))).toMatchObject({ token: 'ptk-one', discovery_file: file })
  expect(await modeOf(own)).toBe('600')
  expect(await modeOf(dirs.ownDir)).toBe('700')
  await withdraw()
  expect(await readdir(dirs.discoveryDir)).toEqual([])
  expect(await readdir(dirs.ownDir)).toEqual([])
})

it('a folder that other users can read is made private', async () => {
  const dirs = await folders()
  await mkdir(dirs.discoveryDir, { recursive: true })
  await chmod(dirs.discoveryDir, 0o755)
  await open(dirs).publish('ptk-one')
  expect(await modeOf(dirs.discoveryDir)).toBe('700')
})

it('a new token replaces the old one of the same daemon', async () => {
  const dirs = await folders()
  const { publish, file } = open(dirs)
  await publish('ptk-one')
  await publish('ptk-two')
  expect(await readFile(file, 'utf8')).toBe('ptk-two')
  expect(await modeOf(file)).toBe('600')
})

it('the token of another program is never replaced and never removed', async () => {
  const dirs = await folders()
  await mkdir(dirs.discoveryDir, { recursive: true })
  const { publish, withdraw, file, log } = open(dirs)
  await writeFile(file, 'ptk-theirs')
  await publish('ptk-one')
  expect(await readFile(file, 'utf8')).toBe('ptk-theirs')
  expect(log).toContainEqual(expect.objectContaining({ level: 'warn', fields: { file } }))
  const own = join(dirs.ownDir, `${process.pid}.json`)
  expect(JSON.parse(await readFile(own, 'utf8'))).toMatchObject({ token: 'ptk-one', discovery_file: null })
  await withdraw()
  expect(await readFile(file, 'utf8')).toBe('ptk-theirs')
  expect(JSON.stringify(log)).not.toContain('ptk-')
})

it('a token that another program has written meanwhile is not removed', async () => {
  const dirs = await folders()
  const { publish, withdraw, file } = open(dirs)
  await publish('ptk-one')
  await writeFile(file, 'ptk-theirs')
  await withdraw()
  expect(await readFile(file, 'utf8')).toBe('ptk-theirs')
})

it('the token of a running daemon stays; that of a killed one is replaced with its record', async () => {
  const dirs = await folders()
  const other = await otherDaemon(dirs, 'ptk-other')
  const { publish, file } = open(dirs)
  await publish('ptk-one')
  expect(await readFile(file, 'utf8')).toBe('ptk-other')
  expect((await readRunningGateways(dirs.ownDir, processStart)).map(({ token }) => token).toSorted()).toEqual([
    'ptk-one',
    'ptk-other',
  ])
  await other.kill()
  expect(existsSync(file)).toBe(true)
  expect(await readRunningGateways(dirs.ownDir, processStart)).toMatchObject([{ token: 'ptk-one' }])
  await publish('ptk-one')
  expect(await readFile(file, 'utf8')).toBe('ptk-one')
  expect(await readdir(dirs.ownDir)).toEqual([`${process.pid}.json`])
})

it('the next start of a daemon without a gateway removes the token of a killed one, and no other', async () => {
  const dirs = await folders()
  const other = await otherDaemon(dirs, 'ptk-other')
  const { file } = open(dirs)
  await removeStaleTokens(dirs.ownDir, { pid: process.pid, processStart })
  expect(await readFile(file, 'utf8')).toBe('ptk-other')
  await other.kill()
  await removeStaleTokens(dirs.ownDir, { pid: process.pid, processStart })
  expect([existsSync(file), existsSync(`${file}.owner`), await readdir(dirs.ownDir)]).toEqual([false, false, []])
})

it('a token that does not match its owner note counts as that of another program', async () => {
  const dirs = await folders()
  const other = await otherDaemon(dirs, 'ptk-other')
  await other.kill()
  const { publish, file } = open(dirs)
  await writeFile(file, 'ptk-theirs')
  await publish('ptk-one')
  expect(await readFile(file, 'utf8')).toBe('ptk-theirs')
})

it('a folder that cannot be written is logged, and the gateway stays open', async () => {
  const dirs = await folders()
  await writeFile(join(dirs.ownDir, '..', 'copilot'), 'a file where the folder should be')
  await writeFile(dirs.ownDir, 'a file where the folder should be')
  const { publish, log } = open(dirs)
  await publish('ptk-one')
  expect(log.filter(({ level }) => level === 'warn')).toHaveLength(2)
})

it('H15 a new token closes the connections of all providers, and the old one is invalid', async () => {
  const of = await openTestGateway()
  const old = of.token()
  const provider = await bind(of)
  await of.gateway.rotate()
  expect(await provider.closed).toBe(1008)
  expect(of.token()).not.toBe(old)
  expect(of.token()).toMatch(/^ptk-[0-9a-f]{64}$/)
  expect(await readFile(of.discoveryFile, 'utf8')).toBe(of.token())
  await expect(bind({ ...of, token: () => old })).rejects.toThrow()
  await bind(of)
})
