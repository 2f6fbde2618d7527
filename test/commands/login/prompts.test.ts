import { expect, test } from 'vitest'
import { showCode } from '../../../src/commands/login/prompts.ts'
import { createUser, recordOutput } from '../harness.ts'

const code = { userCode: 'DEMO-0001', verificationUri: 'https://github.com/login/device', expiresAtMs: 900_000 }

async function shown(isTerminal: boolean, copied: boolean) {
  const asked: string[] = []
  const stdout = { ...recordOutput(80), isTerminal }
  const user = await createUser()
  Object.assign(user.env, { DISPLAY: ':0', PATH: '/nonexistent' })
  const stop = await showCode(user.context({ stdout, now: () => 0 }), code, {
    issuer: 'GitHub',
    mayOpenBrowser: true,
    copy: (text) => {
      asked.push(text)
      return Promise.resolve(copied)
    },
  })
  stop()
  return { asked, text: stdout.text() }
}

test('says that the code is copied where a tool did so', async () => {
  const { asked, text } = await shown(true, true)
  expect(asked).toEqual(['DEMO-0001'])
  expect(text).toContain('+\n\nThe code is in your clipboard.\n\rWaiting for GitHub')
})

test('claims neither a copy nor a browser where there is none', async () => {
  expect((await shown(true, false)).text).not.toMatch(/clipboard|browser should/)
})

test('is plain and leaves the clipboard alone where nobody sits at a terminal', async () => {
  const { asked, text } = await shown(false, true)
  expect(asked).toEqual([])
  expect(text).toBe(
    'Open this address in a browser, on any device:\n\n  https://github.com/login/device\n\n' +
      'and enter this code:\n\n  DEMO-0001\n\n' +
      'Waiting for GitHub. The code expires in 15 minutes. Press Ctrl-C to cancel.\n',
  )
})
