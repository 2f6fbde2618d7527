import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { codexRecordId } from '../../../src/auth/codex/record.ts'
import { startCodex } from '../../upstreams/codex.ts'
import type { CodexUpstream } from '../../upstreams/codex.ts'
import type { CopilotOptions, CopilotUpstream } from '../../upstreams/copilot.ts'
import { createUser, inputOf, openGithub } from '../harness.ts'
import type { TestUser } from '../harness.ts'

/** A user who is logged in to Copilot, and whose Copilot is the simulated one. */
export async function copilotUser(
  options: CopilotOptions = {},
): Promise<{ readonly github: CopilotUpstream; readonly user: TestUser }> {
  const github = await openGithub({ record: 50, ...options })
  const user = await createUser(github)
  user.env['COPILOT_PROXY_COPILOT_BASE_URL'] = github.url
  const { code } = await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  expect(code).toBe(0)
  return { github, user }
}

/** The file of the Copilot record. */
export async function copilotRecordOf(user: TestUser): Promise<string> {
  const { stdout } = await user.run('status --json')
  return JSON.parse(stdout).login.record
}

export interface CodexLogin {
  readonly codex: CodexUpstream
  readonly path: string
}

/** Logs this user in to a simulated Codex. */
export async function logInToCodex(user: TestUser, lifetimeSeconds = 864_000): Promise<CodexLogin> {
  const codex = await startCodex({ record: 50 })
  onTestFinished(() => codex.close())
  const { issuer, baseUrl } = codex
  Object.assign(user.env, { COPILOT_PROXY_CODEX_ISSUER: issuer, COPILOT_PROXY_CODEX_BASE_URL: baseUrl })
  const { accessToken, refreshToken, idToken, accountId, email } = codex.login({ lifetimeSeconds })
  const id = codexRecordId(accountId)
  const path = join(user.home, 'auth', `${id}.json`)
  const nowSeconds = Math.floor(Date.now() / 1000)
  const metadata = {
    access_token: accessToken,
    refresh_token: refreshToken,
    id_token: idToken,
    account_id: accountId,
    email,
    plan: 'plus',
    expires_at: nowSeconds + lifetimeSeconds,
    last_refresh: nowSeconds,
    logged_in_at: nowSeconds,
    issuer,
  }
  await mkdir(join(user.home, 'auth'), { recursive: true, mode: 0o700 })
  await writeFile(path, JSON.stringify({ id, provider: 'codex', label: email, attributes: {}, metadata }), {
    mode: 0o600,
  })
  return { codex, path }
}
