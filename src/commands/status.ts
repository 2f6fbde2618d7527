import type { LoginInUse } from '../auth/copilot/account-in-use.ts'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { isExpired } from '../auth/token-life.ts'
import { tokenLife } from '../auth/copilot/record.ts'
import { isUsedDirectly } from '../auth/copilot/wire.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import type { Style } from '../terminal/output.ts'
import { formatPairs } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import { daemonDocument, findStateFiles, findRunningDaemon } from './background/background-daemon.ts'
import type { DaemonRecord } from './background/background-daemon.ts'
import { findLogin, openRecords } from './shared/accounts.ts'
import { codexDocument, codexLines, hasCodexLogin, readCodexState } from './shared/codex-login.ts'
import type { CodexState } from './shared/codex-login.ts'
import { exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from './shared/command.ts'
import { findDaemon, findPortHolder, isCallerKeyRight } from './shared/find-daemon.ts'
import type { DaemonHealth, PortHolder } from './shared/find-daemon.ts'
import { planNameOfSku } from './shared/plan-name.ts'
import { loadSettings } from './shared/settings.ts'
import type { LoadedSettings } from './shared/settings.ts'

/** The stored Copilot token, from local files only. */
type TokenState =
  | { readonly kind: 'usable'; readonly untilMs: number }
  | { readonly kind: 'expired' }
  /** The GitHub token is sent to Copilot itself. */
  | { readonly kind: 'direct' }
  | { readonly kind: 'none' }

/**
 * Shows logins, tokens, daemon and files, from this machine only. Returns 3 when there is no login, 1 when a stored
 * login cannot be read.
 */
export async function status(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const files = findStateFiles(context)
  const background = await findRunningDaemon(context, files)
  const [stored, codex, { url, health }] = await Promise.all([
    readLogin(context, settings),
    readCodexState(context, settings),
    findDaemon(context, settings, { findBackground: () => Promise.resolve(background) }),
  ])
  const holder = health === undefined ? await findPortHolder(context.fetch, serverOf(url)) : undefined
  const token = tokenState(stored.login?.record, settings, context.now())
  const isKeyRight = health === undefined ? undefined : await isCallerKeyRight(context, url)
  const findings = { ...stored, isKeyRight, token, codex, url, health, holder, background, logFile: files.logFile }
  if (flags.json) writeJson(context, statusDocument(context, settings, findings))
  else context.stdout.write(statusText(context, settings, findings))
  if (stored.problem !== undefined || codex.kind === 'problem') return exitCode.failed
  return stored.login === undefined && !hasCodexLogin(codex) ? exitCode.notLoggedIn : exitCode.done
}

function serverOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url)
  // URLs have IPv6 addresses in brackets.
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || 80) }
}

interface StoredLogin {
  readonly login: LoginInUse | undefined
  /** Why the login is unknown: a sentence that names the file. */
  readonly problem: string | undefined
}

interface Findings extends StoredLogin {
  readonly token: TokenState
  readonly codex: CodexState
  readonly url: string
  readonly health: DaemonHealth | undefined
  /** Who listens at the address where no daemon answers. */
  readonly holder: PortHolder | undefined
  readonly background: DaemonRecord | undefined
  readonly logFile: string
  /** The key in COPILOT_PROXY_API_KEY; undefined if there is none, or no daemon. */
  readonly isKeyRight: boolean | undefined
}

async function readLogin(context: CommandContext, settings: LoadedSettings): Promise<StoredLogin> {
  try {
    return { login: await findLogin(context, settings), problem: undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { login: undefined, problem: error.message }
  }
}

function tokenState(record: CopilotRecord | undefined, settings: LoadedSettings, nowMs: number): TokenState {
  const { access_token, obtained_at: obtainedAtSeconds, refresh_in: refreshInSeconds } = record?.metadata ?? {}
  if (access_token === undefined || obtainedAtSeconds === undefined || refreshInSeconds === undefined) {
    return { kind: 'none' }
  }
  if (record !== undefined && isUsedDirectly(record.metadata)) return { kind: 'direct' }
  const at = { wallMs: nowMs, monotonicMs: 0 }
  const marginSeconds = settings.config.copilot.refreshSafetyMarginSeconds
  const life = tokenLife({ obtainedAtSeconds, refreshInSeconds }, { marginSeconds, random: 0 }, at)
  return isExpired(life, at) ? { kind: 'expired' } : { kind: 'usable', untilMs: nowMs + life.expiresAfterMs }
}

function statusText(context: CommandContext, settings: LoadedSettings, findings: Findings): string {
  const { login, token, codex } = findings
  const { style } = context.stdout
  const stored = login?.record === undefined ? '' : openRecords(context, settings).locationOf(login.record.id)
  const file = settings.hasFile ? settings.configFile : `${settings.configFile} (not there; defaults are in force)`
  return formatPairs(
    [
      ['Login', describeLogin(findings, style)],
      ['Token', login?.record === undefined ? '' : describeToken(token, context.now())],
      ['Stored in', stored],
      ...codexLines(codex, style, context.now()),
      ['Store', stores[settings.config.auth.store]],
      ['Daemon', describeDaemon(findings)],
      ['Key', findings.isKeyRight === false ? style.red('the key in COPILOT_PROXY_API_KEY is wrong') : ''],
      ['Background', describeBackground(findings)],
      ['Config', file],
      ['Version', context.version],
    ],
    style,
  )
}

/** By `auth.store`. */
const stores = {
  file: 'files that only you can read',
  keychain: 'files sealed with keys in the keychain of this system',
} as const

function describeLogin({ login, problem }: StoredLogin, style: Style): string {
  if (problem !== undefined) return style.red(visible(problem))
  if (login === undefined) return style.yellow('nobody; log in with: copilot-proxy login')
  const { record } = login
  if (record === undefined) return 'the token in COPILOT_GITHUB_TOKEN'
  const { sku, github_base_url: baseUrl } = record.metadata
  const plan = planNameOfSku(sku) ?? sku
  const host = baseUrl !== undefined && URL.canParse(baseUrl) ? ` at ${new URL(baseUrl).host}` : ''
  return visible(`${record.label}${host}${plan === undefined ? '' : `, ${plan}`}`)
}

function describeToken(token: TokenState, nowMs: number): string {
  switch (token.kind) {
    case 'usable':
      return `good for ${Math.ceil((token.untilMs - nowMs) / 60_000)} more minutes; renewed by itself`
    case 'direct':
      return 'the login itself is sent to Copilot; good until it is revoked'
    case 'expired':
      return 'expired; the next request fetches a new one'
    case 'none':
      return 'none yet; the first request fetches one'
  }
}

function describeDaemon(findings: Findings): string {
  const { url, health, login } = findings
  if (health === undefined) return describeAbsent(findings)
  const copilot = health.demo ? 'simulated (--demo)' : visible(health.copilot)
  const codex = health.codex === undefined || health.demo ? '' : `, Codex ${visible(health.codex)}`
  const notes = [
    // Without a login the reason is obvious.
    ...(health.copilot === 'unavailable' && login !== undefined ? ['find out why with: copilot-proxy doctor'] : []),
    ...(health.isConfigRefused ? ['its configuration file is empty or not valid: older settings are in force'] : []),
  ]
  return [`running at ${url}, version ${visible(health.version)}, Copilot ${copilot}${codex}`, ...notes].join('; ')
}

function describeAbsent({ url, holder, background }: Findings): string {
  if (background?.url === url) return `does not answer at ${url}; try: copilot-proxy restart`
  if (holder?.kind !== 'process') return `not running at ${url}; start it with: copilot-proxy serve`
  const { name, pid } = holder
  return `not running at ${url}, where ${visible(name)} (process ${pid}) listens; choose another port: server.port`
}

function describeBackground({ background, url, logFile }: Findings): string {
  if (background === undefined) return ''
  const { pid, started_at: startedAt, starter } = background
  const where = background.url === url ? '' : ` at ${visible(background.url)}`
  const since = new Date(startedAt).toLocaleString('sv')
  return `process ${pid}${starter === 'service' ? ' (a service)' : ''}${where} since ${since}, log in ${visible(logFile)}`
}

function statusDocument(context: CommandContext, settings: LoadedSettings, findings: Findings): object {
  const { login, problem, token, codex, url, health, background, logFile, isKeyRight } = findings
  const metadata = login?.record?.metadata
  return {
    version: context.version,
    login:
      login === undefined
        ? null
        : {
            source: login.record === undefined ? 'environment' : 'record',
            account: login.record?.label ?? null,
            host: metadata?.github_base_url ?? null,
            plan: planNameOfSku(metadata?.sku) ?? null,
            sku: metadata?.sku ?? null,
            record: login.record === undefined ? null : openRecords(context, settings).locationOf(login.record.id),
          },
    problem: problem ?? null,
    store: settings.config.auth.store,
    token: {
      state: token.kind,
      expires_at: token.kind === 'usable' ? new Date(token.untilMs).toISOString() : null,
    },
    codex: codexDocument(codex, context.now()),
    daemon: {
      url,
      running: health !== undefined,
      version: health?.version ?? null,
      copilot: health?.copilot ?? null,
      codex: health?.codex ?? null,
      demo: health?.demo ?? null,
      caller_key: isKeyRight === undefined ? null : isKeyRight ? 'ok' : 'wrong',
      config: health === undefined ? null : health.isConfigRefused ? 'invalid' : 'ok',
    },
    background: background === undefined ? null : { ...daemonDocument(background), log: logFile },
    config: { path: settings.configFile, exists: settings.hasFile },
  }
}
