import { some } from '../thorough.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startCli } from '../cli/cli.ts'
import { createUser, openGithub } from '../commands/harness.ts'
import { bodyOfPrompt } from '../http/callers.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { openTlsFront } from '../upstreams/tls-front.ts'

const root = createAuthority('Company root')
const intermediate = createAuthority('Company intermediate', root)
const leaf = createCertificate({ authority: intermediate })

/**
 * Sends one request to a daemon, and runs `doctor`.
 * @param isGithubNear only the host of the models has the certificate
 */
async function useAll(trusted: string, sendsIntermediate: boolean, isGithubNear: boolean) {
  const github = await openGithub()
  const cert = sendsIntermediate ? leaf.cert + intermediate.cert : leaf.cert
  const { url } = await openTlsFront(github.port, { ...leaf, cert })
  const { home } = await createUser()
  const file = join(home, 'company.pem')
  await writeFile(file, trusted)
  const env = {
    COPILOT_PROXY_HOME: home,
    HOME: home,
    COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: isGithubNear ? github.url : url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: isGithubNear ? github.url : url,
    COPILOT_PROXY_COPILOT_BASE_URL: url,
    NODE_EXTRA_CA_CERTS: file,
  }
  const daemon = startCli(['serve', '--port', '0'], env)
  const [, address = ''] = await daemon.seen('stdout', /listening on (\S+)/)
  const reply = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOfPrompt('chat', 'gpt-4.1', 'Hello'),
  })
  const answer = await reply.text()
  const port = { COPILOT_PROXY_SERVER_PORT: new URL(address).port }
  const doctor = await startCli(['doctor'], { ...env, ...port }).ended
  daemon.child.kill('SIGTERM')
  const { stderr: log } = await daemon.ended
  return { status: reply.status, answer, log, doctor: doctor.stdout, code: doctor.code }
}

describe('a certificate from an intermediate, whose root is', () => {
  describe.each([
    ['that the server sends', true],
    ['that only the file has', false],
  ])('%s', (_where, sends) => {
    const hosts = [
      ['GitHub', false, 503],
      ['the host of the models', true, 502],
    ] as const
    test.each(some(hosts, 2, sends ? 0 : 1))(
      'not in NODE_EXTRA_CA_CERTS: answer, log and doctor say so of %s',
      { timeout: 60_000 },
      async (_what, isNear, status) => {
        const used = await useAll(intermediate.cert, sends, isNear)
        expect(used).toMatchObject({ status, code: 1 })
        for (const text of [used.answer, used.log, used.doctor]) {
          expect(text.replaceAll(/\s+/g, ' ')).toContain(
            'its certificate is not trusted: the root certificate is missing; the file of NODE_EXTRA_CA_CERTS must contain the root of your company, not only an intermediate certificate',
          )
        }
        expect(used.doctor).toContain('Add the root certificate of your company to the file')
        expect(used.doctor).not.toContain('If your company inspects TLS, trust its certificate')
      },
    )
  })

  test('in NODE_EXTRA_CA_CERTS works', { timeout: 60_000 }, async () => {
    expect(await useAll(root.cert + intermediate.cert, false, false)).toMatchObject({ status: 200, code: 0 })
    expect(await useAll(root.cert, true, false)).toMatchObject({ status: 200, code: 0 })
  })
})
