import { describe, test } from 'vitest'
import { beat, createEnclosed, describeEnclosed, expectEndWithRunner, type Person } from './enclosed.ts'

/** Runs a script that beats, kills the process that has started it, and expects that it ends. */
async function killRunner(person: Person, mode: 'auto' | 'off', script: string): Promise<void> {
  const { root, given, user } = await createEnclosed(person)
  await expectEndWithRunner(root, user, { ...given, mode, commands: [{ script }] })
}

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
