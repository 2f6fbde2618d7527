import { listen } from '../support.ts'
import type { CodexRecord } from '../../../src/auth/codex/record.ts'

/** A token whose signature nobody checks. */
export function jwt(payload: unknown): string {
  return `${encode({ alg: 'none' })}.${encode(payload)}.test`
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

export interface AccessTokenOptions {
  readonly issuedAtSeconds: number
  readonly lifeSeconds?: number
  readonly accountId?: string
  /** Tells tokens apart. */
  readonly name?: string
  readonly plan?: string
}

export function accessToken(options: AccessTokenOptions): string {
  const { issuedAtSeconds, lifeSeconds = 3600, accountId = 'account-1', name = 'access', plan = 'plus' } = options
  return jwt({
    iat: issuedAtSeconds,
    exp: issuedAtSeconds + lifeSeconds,
    jti: name,
    'https://api.openai.com/auth': { chatgpt_account_id: accountId, chatgpt_plan_type: plan },
    'https://api.openai.com/profile': { email: 'person@example.com' },
  })
}

/** A login whose access token has been used for `ageSeconds` of its hour. */
export function codexRecord(
  nowMs: number,
  ageSeconds: number,
  metadata: Partial<CodexRecord['metadata']> = {},
  id = 'codex-account-1',
): CodexRecord {
  const issuedAtSeconds = Math.floor(nowMs / 1000) - ageSeconds
  return {
    id,
    provider: 'codex',
    label: 'person@example.com',
    attributes: {},
    metadata: {
      access_token: accessToken({ issuedAtSeconds, name: 'stored' }),
      refresh_token: 'rt-example-0',
      account_id: 'account-1',
      email: 'person@example.com',
      plan: 'plus',
      expires_at: issuedAtSeconds + 3600,
      last_refresh: issuedAtSeconds,
      logged_in_at: 1_700_000_000,
      ...metadata,
    },
  }
}

export interface LoopbackIssuer {
  readonly url: string
  /** Refresh tokens that were presented, in order. */
  readonly presented: string[]
  /** Refresh tokens that were redeemed; each reply has been sent, or held back. */
  readonly redeemed: string[]
  /** True once a refresh token came twice: nothing of this login works any more. */
  readonly isRevoked: () => boolean
  /** Replies wait for this from now on. */
  readonly holdReplies: (until: Promise<void>) => void
  /** Called when a refresh token arrives, before it is redeemed. */
  readonly onArrival: (listener: () => void) => void
  readonly close: () => Promise<void>
}

/** A login server with one login, `rt-example-0`: each refresh token works once, and reuse revokes everything. */
export async function startIssuer(): Promise<LoopbackIssuer> {
  const presented: string[] = []
  const redeemed: string[] = []
  let current = 'rt-example-0'
  let revoked = false
  let held: Promise<void> = Promise.resolve()
  let arrived: (() => void) | undefined
  const server = await listen((request, response) => {
    const answer = async (status: number, body: unknown): Promise<void> => {
      await held
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      const body: unknown = JSON.parse(text)
      const token =
        typeof body === 'object' && body !== null && 'refresh_token' in body ? String(body.refresh_token) : ''
      presented.push(token)
      arrived?.()
      if (redeemed.includes(token)) revoked = true
      if (revoked || token !== current) {
        void answer(401, { error: { code: 'refresh_token_reused' } })
        return
      }
      redeemed.push(token)
      current = `rt-example-${redeemed.length}`
      const issuedAtSeconds = Math.floor(Date.now() / 1000)
      void answer(200, {
        access_token: accessToken({ issuedAtSeconds, name: `renewed-${redeemed.length}` }),
        refresh_token: current,
      })
    })
  })
  return {
    url: server.url,
    presented,
    redeemed,
    isRevoked: () => revoked,
    holdReplies(until) {
      held = until
    },
    onArrival(listener) {
      arrived = listener
    },
    close: server.close,
  }
}

/** The `jti` of a test token. */
export function nameOf(token: string): unknown {
  const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return typeof payload === 'object' && payload !== null && 'jti' in payload ? payload.jti : undefined
}
