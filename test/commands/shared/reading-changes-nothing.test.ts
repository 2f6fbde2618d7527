import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codexRecordId } from '../../../src/auth/codex/record.ts'
import { copilotUser } from '../doctor/logged-in.ts'
import type { TestUser } from '../harness.ts'

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8)
}

/** Everything in the folder of logins: each name with its mode and content. */
async function loginFolder({ home }: TestUser): Promise<readonly string[]> {
  const dir = join(home, 'auth')
  const files = (await readdir(dir)).toSorted().map(async (name) => {
    const path = join(dir, name)
    return `${name} ${await modeOf(path)} ${await readFile(path, 'utf8')}`
  })
  return [await modeOf(dir), ...(await Promise.all(files))]
}

/** A user with a login of Copilot that others can read, and one of Codex that is damaged. */
async function carelessUser(): Promise<TestUser & { readonly damaged: string; readonly open: string }> {
  const { user } = await copilotUser()
  const dir = join(user.home, 'auth')
  const [name = ''] = await readdir(dir)
  const [open, damaged] = [join(dir, name), join(dir, `${codexRecordId('acc-0001')}.json`)]
  await writeFile(damaged, '{broken', { mode: 0o600 })
  await chmod(open, 0o644)
  await chmod(dir, 0o755)
  return { ...user, damaged, open }
}

describe('a command that only shows something', () => {
  test.each(['status', 'status --json', 'account list', 'usage', 'usage --line', 'key list', '__complete accounts'])(
    '%s leaves the modes and the damaged files of logins as they are',
    async (command) => {
      const user = await carelessUser()
      const before = await loginFolder(user)
      await user.run(command)
      expect(await loginFolder(user)).toEqual(before)
    },
  )

  test('status names both, with the command for each', async () => {
    const user = await carelessUser()
    const { code, stdout, stderr } = await user.run('status')
    expect(code).toBe(1)
    expect(stdout).toContain(
      `${user.damaged} is not usable: it is not valid JSON. Log in again: copilot-proxy login codex`,
    )
    expect(stderr).toContain(
      `Note: ${user.open} can be read by other users of this machine. Run: chmod 600 ${user.open}`,
    )
    expect(stderr).toContain(`Run: chmod 700 ${join(user.home, 'auth')}`)
  })

  test('a login replaces what is damaged, and makes the folder private', async () => {
    const user = await carelessUser()
    const { stderr } = await user.run('logout')
    expect(stderr).toContain('its mode is now 0700')
    expect((await loginFolder(user))[0]).toBe('700')
  })
})
