import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { codexRecordKind, toCodexRecord } from '../../src/auth/codex/record.ts'
import type { CodexRecord } from '../../src/auth/codex/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import type { RecordStore } from '../../src/auth/records/record-store.ts'
import type { CopilotRecord } from '../../src/auth/copilot/wire.ts'
import type { Config } from '../../src/config/schema.ts'
import { startDaemon } from '../../src/daemon.ts'
import type { Daemon } from '../../src/daemon.ts'
import type { CodexFiles } from '../../src/daemon/codex-catalogue-file.ts'
import { jsonReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { startCodex } from '../upstreams/codex.ts'
import type { CodexUpstream } from '../upstreams/codex.ts'
import { startCopilot } from '../upstreams/copilot.ts'
import type { CopilotOptions, CopilotUpstream } from '../upstreams/copilot.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import type { LogLine } from '../recording-log.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'
import { createClient } from './client.ts'
import type { Client } from './client.ts'

export interface ProxyOptions {
  /** Text of the configuration file, merged over one that names the simulated services and selects a free port. */
  readonly file?: string
  readonly demo?: CopilotOptions
  /** `environment` (default): a token, as in COPILOT_GITHUB_TOKEN. `revoked`: one that GitHub refuses. `none`: no login. */
  readonly login?: 'environment' | 'revoked' | 'none'
  /** The login for Codex: a stored one, an API key, or Codex CLI's own. Default: none. */
  readonly codexLogin?: 'stored' | 'api-key' | 'codex-cli'
  /** Settings as environment variables, merged over those that name the simulated services. */
  readonly settings?: Readonly<Record<string, string>>
  /** The environment in which the daemon looks for proxies; empty by default. */
  readonly proxies?: Readonly<Record<string, string>>
  /** The folder for the file `owner-token`, which commands read. */
  readonly ownerTokenDir?: string
  /** The folder of the data of workspaces. Default: a new one */
  readonly workspacesDir?: string
  /** Whether a person has confirmed the policies that the workspaces have at the start. Default: true */
  readonly confirmed?: boolean
  /** The files of `setup codex`. */
  readonly codexFiles?: CodexFiles
  /** Runs before the daemon starts, e.g. to script its first exchange. */
  readonly prepare?: (demo: CopilotUpstream, codex: CodexUpstream) => void
}

/** A running daemon with a simulated GitHub, Copilot and OpenAI. Everything is closed when the test ends. */
export interface Proxy extends Client {
  readonly daemon: Daemon
  readonly demo: CopilotUpstream
  readonly codex: CodexUpstream
  /** The store from which the daemon reads its logins. */
  readonly store: RecordStore<CopilotRecord>
  readonly codexStore: RecordStore<CodexRecord>
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string
  readonly log: readonly LogLine[]
  /** A configuration like the one in force, with another file merged over it. */
  readonly configure: (file: string) => Config
  /** Confirms the policies of a workspace as they are now. */
  readonly confirm: (root: string) => Promise<void>
}

/** The number of newest requests that the simulated services keep. */
const keptRequests = 100

export async function openProxy({
  file = '',
  demo: demoOptions,
  login = 'environment',
  codexLogin,
  settings,
  proxies = {},
  codexFiles,
  ownerTokenDir,
  workspacesDir: givenDir,
  confirmed = true,
  prepare,
}: ProxyOptions = {}): Promise<Proxy> {
  const demo = await startCopilot({ record: keptRequests, ...demoOptions })
  const codex = await startCodex({ record: keptRequests })
  prepare?.(demo, codex)
  const authDir = await mkdtemp(join(tmpdir(), 'copilot-proxy-auth-'))
  const workspacesDir = givenDir ?? join(authDir, 'workspaces')
  const log = recordingLog()
  const env = {
    COPILOT_PROXY_SERVER_PORT: '0',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: demo.url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: demo.url,
    COPILOT_PROXY_CODEX_BASE_URL: codex.baseUrl,
    COPILOT_PROXY_CODEX_API_BASE_URL: codex.apiBaseUrl,
    COPILOT_PROXY_CODEX_ISSUER: codex.issuer,
    ...(codexLogin === 'api-key' && { COPILOT_PROXY_CODEX_API_KEY: codex.apiKey }),
    ...(codexLogin === 'codex-cli' && { COPILOT_PROXY_CODEX_USE_CLI_LOGIN: 'true' }),
    ...settings,
  }
  const codexStore = createRecordStore({ kind: codexRecordKind, dir: authDir, log })
  const codexHome = join(authDir, 'codex-home')
  const record = toCodexRecord(codex.login(), { nowMs: Date.now(), issuer: codex.issuer })
  if (record === undefined) throw new Error('the simulated login names no account')
  if (codexLogin === 'stored') await codexStore.write(record)
  if (codexLogin === 'codex-cli') {
    await mkdir(codexHome)
    const { access_token, refresh_token, account_id } = record.metadata
    const tokens = { id_token: access_token, access_token, refresh_token, account_id }
    await writeFile(
      join(codexHome, 'auth.json'),
      JSON.stringify({ auth_mode: 'chatgpt', OPENAI_API_KEY: null, tokens }),
    )
  }
  const configure = (text: string): Config => loaded({ file: text, env }).config
  const githubToken = login === 'revoked' ? 'ghu_demo_revoked' : demo.tokens.issueGithub()
  const daemon = await startDaemon({
    config: configure(file),
    authDir,
    workspacesDir,
    gatewayDir: join(authDir, 'gateway'),
    ownPaths: { folders: [authDir], files: [] },
    codexHome,
    codexFiles,
    ownerTokenDir,
    version: '0.0.0-test',
    log,
    demo: false,
    githubToken: login === 'none' ? undefined : githubToken,
    env: proxies,
  })
  const confirm = (root: string): Promise<void> => confirmPolicies(workspacesDir, root)
  if (confirmed) for (const { path } of configure(file).workspaces) await confirm(path).catch(() => {})
  const client = createClient(daemon.url)
  onTestFinished(async () => {
    client.close()
    await daemon.close(0)
    await demo.close()
    await codex.close()
    await rm(authDir, { recursive: true })
    expectNoSecrets(log.lines)
  })
  return {
    ...client,
    daemon,
    demo,
    codex,
    codexStore,
    codexHome,
    store: createRecordStore({ kind: copilotRecordKind, dir: authDir, log }),
    log: log.lines,
    configure,
    confirm,
  }
}

/** Credentials of the simulated services. The log of every test is searched for them. */
const secretShapes = /gh[uo]_demo|github_pat_demo|tid=demo|[Bb]earer \S|eyJ[\w-]+\.|sk-demo|rt_demo|demo-refresh/

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

/** The chat requests that upstream has received, oldest first. */
export function chatsOf({ log }: CopilotUpstream): CopilotUpstream['log'] {
  return log.filter(({ route }) => route === '/chat/completions')
}

/** A reply of the simulated token exchange, for scripts. */
export function tokenReply({ tokens, port }: CopilotUpstream): Outcome {
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
