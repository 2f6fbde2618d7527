import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, vi } from 'vitest'
import { createEnclosed, describeEnclosed, runnerOf, type Person } from './enclosed.ts'

/** Kills the process that has started a command, and expects that the command ends. */
async function killRunner(person: Person, mode: 'auto' | 'off', script: string): Promise<void> {
  const { root, given, user } = await createEnclosed(person)
  const [program, ...args] = runnerOf({ ...given, mode, commands: [{ script }] })
  const runner = spawn(program, args, { ...user, cwd: '/', stdio: 'ignore' })
  const size = (): number => (existsSync(join(root, 'alive')) ? readFileSync(join(root, 'alive')).length : 0)
  await vi.waitUntil(() => size() > 2, { timeout: 30_000, interval: 50 })
  runner.kill('SIGKILL')
  await once(runner, 'exit')
  // The command writes twenty bytes a second. Wait until it writes none for half a second.
  let last = -1
  const hasEnded = (): boolean => {
    const before = last
    last = size()
    return before === last
  }
  await vi.waitUntil(hasEnded, { timeout: 10_000, interval: 500 })
}

const beat = 'while :; do echo >> alive; sleep 0.05; done'

describeEnclosed('after kill -9 of the daemon, a command in the sandbox ends', (person) => {
  test('with its child that ignores SIGTERM in a session of its own', async () => {
    await killRunner(person, 'auto', `setsid sh -c 'trap "" TERM HUP; ${beat}' & sleep 60`)
  })
})

describe.skipIf(process.platform === 'win32')('after kill -9 of the daemon, a command without a sandbox ends', () => {
  test('with the processes of its group', async () => {
    const person = { title: '', uid: undefined, ownerUid: undefined }
    await killRunner(person, 'off', `sh -c 'trap "" TERM HUP; ${beat}' & sleep 60`)
  })
})
