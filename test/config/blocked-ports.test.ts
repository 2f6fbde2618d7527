import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { blockedPorts } from '../../src/config/setting-types.ts'
import { createUser } from '../commands/harness.ts'

test('the blocked ports are those of fetch', () => {
  const { badPorts }: { readonly badPorts: readonly string[] } = createRequire(import.meta.url)(
    'undici/lib/web/fetch/constants.js',
  )
  expect([...blockedPorts]).toEqual(badPorts.map(Number))
})

test('a port that clients could not reach is refused, as a flag and as a setting', async () => {
  const { run } = await createUser()
  const reason = 'browsers and Node.js refuse to connect to this port. Choose another one, e.g. 4141'
  const flag = await run('serve --demo --port 6000')
  expect({ code: flag.code, stderr: flag.stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) })
  const setting = await run('config set server.port 4190')
  expect({ code: setting.code, stderr: setting.stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) })
})
