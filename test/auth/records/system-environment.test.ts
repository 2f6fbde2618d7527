import { expect, test } from 'vitest'
import { systemEnvironment } from '../../../src/auth/records/process-start.ts'

test('C11 programs of the system get no token of this one', () => {
  const env = { PATH: '/bin', HOME: '/home/a', COPILOT_GITHUB_TOKEN: 'ghu_made_up', NODE_OPTIONS: '--inspect', A: 'b' }
  expect(systemEnvironment(env)).toEqual({ PATH: '/bin', HOME: '/home/a' })
})
