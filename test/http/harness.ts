import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { createRecordStore } from '../../src/auth/record-store.ts'
import type { RecordStore } from '../../src/auth/record-store.ts'
import type { CopilotRecord } from '../../src/auth/wire.ts'
import type { Config } from '../../src/config/schema.ts'
import { startDaemon } from '../../src/daemon.ts'
import type { Daemon } from '../../src/daemon.ts'
import { jsonReply } from '../../src/demo/outcome.ts'
import type { Outcome } from '../../src/demo/outcome.ts'
import { startDemoServer } from '../../src/demo/server.ts'
import type { DemoOptions, DemoServer } from '../../src/demo/server.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import type { LogLine } from '../recording-log.ts'
import { createClient } from './client.ts'
import type { Client } from './client.ts'

export interface ProxyOptions {
  /** Configuration file, laid over one that names the simulated services and picks a free port. */
  readonly file?: string
  readonly demo?: DemoOptions
  /** `environment` (default): a token as from COPILOT_GITHUB_TOKEN; `none`: nobody is logged in. */
  readonly login?: 'environment' | 'none'
  /** Runs before the daemon starts, e.g. to script its first exchange. */
  readonly prepare?: (demo: DemoServer) => void
}

/** A running daemon whose GitHub and Copilot are simulated. Everything is closed when the test ends. */
export interface Proxy extends Client {
  readonly daemon: Daemon
  readonly demo: DemoServer
  /** The store the daemon reads its logins from. */
  readonly store: RecordStore
  readonly log: readonly LogLine[]
  /** A configuration like the one in force, with another file laid over the base. */
  readonly configure: (file: string) => Config
}

/** Requests kept by the simulated services for a test to look at. */
const keptRequests = 100

export async function openProxy({
  file = '',
  demo: demoOptions,
  login = 'environment',
  prepare,
}: ProxyOptions = {}): Promise<Proxy> {
  const demo = await startDemoServer({ record: keptRequests, ...demoOptions })
  prepare?.(demo)
  const authDir = await mkdtemp(join(tmpdir(), 'copilot-proxy-auth-'))
  const log = recordingLog()
  const env = {
    COPILOT_PROXY_SERVER_PORT: '0',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: demo.url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: demo.url,
  }
  const configure = (text: string): Config => loaded({ file: text, env }).config
  const daemon = await startDaemon({
    config: configure(file),
    authDir,
    version: '0.0.0-test',
    log,
    demo: false,
    githubToken: login === 'environment' ? demo.tokens.issueGithub() : undefined,
    env: {},
  })
  const client = createClient(daemon.url)
  onTestFinished(async () => {
    client.close()
    await daemon.close(0)
    await demo.close()
    await rm(authDir, { recursive: true })
    expectNoSecrets(log.lines)
  })
  return { ...client, daemon, demo, store: createRecordStore({ dir: authDir, log }), log: log.lines, configure }
}

/** What the simulated services issue; the log of every test is searched for it. */
const secretShapes = /ghu_demo|tid=demo|[Bb]earer \S/

function expectNoSecrets(lines: readonly LogLine[]): void {
  for (const line of lines) expect(inspect(line, { depth: 20, maxStringLength: 10_000 })).not.toMatch(secretShapes)
}

/** The record that `login` stores, without a Copilot token yet. */
export function recordOf(githubToken: string, change: Partial<CopilotRecord> = {}): CopilotRecord {
  return {
    id: 'copilot-demo-user',
    provider: 'copilot',
    label: 'demo-user',
    attributes: {},
    metadata: { github_access_token: githubToken, login: 'demo-user', logged_in_at: 1 },
    ...change,
  }
}

/** The chat requests upstream has seen, oldest first. */
export function chatsOf({ log }: DemoServer): DemoServer['log'] {
  return log.filter(({ route }) => route === '/chat/completions')
}

/** A reply of the token exchange as the simulated GitHub makes it, to be scripted. */
export function tokenReply({ tokens, port }: DemoServer): Outcome {
  const { token, expiresAtSeconds } = tokens.issueCopilot({
    lifetimeSeconds: 1800,
    sku: 'monthly_subscriber_quota',
    proxyEp: `127.0.0.1:${port}`,
  })
  return jsonReply(200, {
    token,
    expires_at: expiresAtSeconds,
    refresh_in: 1500,
    endpoints: { api: `http://127.0.0.1:${port}` },
  })
}
