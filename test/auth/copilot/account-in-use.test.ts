import { expect, test } from 'vitest'
import { fetchAccountInUse } from '../../../src/auth/copilot/account-in-use.ts'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createMemoryRecordStore } from '../../../src/auth/records/memory-record-store.ts'
import { exampleRecord } from '../support.ts'
import { loaded } from '../../config/loading.ts'

const never = new AbortController().signal

/** The fault of asking GitHub, which answers with this status. */
function refusal(status: number, githubToken: string | undefined): Promise<unknown> {
  const store = createMemoryRecordStore(copilotRecordKind, [exampleRecord()])
  const fetch = () =>
    Promise.resolve(Response.json({ message: 'no' }, { status, headers: { 'x-github-request-id': 'EXAMPLE' } }))
  const asked = fetchAccountInUse({ store, githubToken, fetch, now: Date.now }, loaded().config, never)
  return asked.then(
    () => undefined,
    (fault: unknown) => fault,
  )
}

test.each([
  [undefined, 'GitHub does not accept the stored login: no (GitHub request id EXAMPLE)', 'Run: copilot-proxy login'],
  [
    'ghu_example',
    'GitHub does not accept the token in COPILOT_GITHUB_TOKEN: no (GitHub request id EXAMPLE)',
    'Set COPILOT_GITHUB_TOKEN to a valid token',
  ],
  [
    'ghu example',
    'COPILOT_GITHUB_TOKEN is not a valid token: tokens have no spaces, line breaks or accented letters',
    'Set COPILOT_GITHUB_TOKEN to a valid token',
  ],
])('the message about a refused login names its origin: %s', async (githubToken, detail, fix) => {
  expect(await refusal(401, githubToken)).toMatchObject({ error: { kind: 'copilot_unavailable', detail, fix } })
})

test.each([
  [403, 'copilot_unavailable'],
  [404, 'upstream_unusable'],
  [429, 'upstream_status'],
  [502, 'upstream_unreachable'],
])('a %i is %s', async (status, kind) => {
  expect(await refusal(status, undefined)).toMatchObject({ error: { kind } })
})

test.each(['gho_example', 'github_pat_example'])(
  'a 404 or 403 to %s is no failure, because such a token cannot read plan and quota',
  async (token) => {
    const store = createMemoryRecordStore(copilotRecordKind, [])
    for (const status of [403, 404]) {
      const fetch = () => Promise.resolve(Response.json({ message: 'no' }, { status }))
      const asked = fetchAccountInUse({ store, githubToken: token, fetch, now: Date.now }, loaded().config, never)
      expect(await asked).toEqual({ problem: expect.stringContaining('does not show plan and quota') })
    }
    expect(await refusal(401, token)).toMatchObject({ error: { kind: 'copilot_unavailable' } })
  },
)
