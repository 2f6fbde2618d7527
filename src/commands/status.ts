import { access } from 'node:fs/promises'
import { isExpired } from '../auth/token-life.ts'
import { tokenLife } from '../auth/copilot/record.ts'
import { isUsedDirectly } from '../auth/copilot/wire.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import { loadConfig } from '../config/load.ts'
import { formatConfigError, problemDocument } from '../config/problem.ts'
import type { Problem } from '../config/problem.ts'
import type { Style } from '../terminal/output.ts'
import { formatPairs } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import { daemonDocument, findStateFiles, findRunningDaemon } from './background/background-daemon.ts'
import type { DaemonRecord } from './background/background-daemon.ts'
import { describePlace, openRecords } from './shared/accounts.ts'
import { exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from './shared/command.ts'
import { checkCommandKey, findDaemon, findPortHolder, keyProblems } from './shared/find-daemon.ts'
import type { CallerKeyState, DaemonHealth, PortHolder } from './shared/find-daemon.ts'
import { describeCodexLogin, hasCodexLogin, readCodexState, readCopilotState } from './shared/logins.ts'
import type { CodexLogin, CodexState, CopilotState } from './shared/logins.ts'
import { planNameOfSku } from '../api/plan-name.ts'
import { readSettings } from './shared/settings.ts'
import type { LoadedSettings, UserFiles } from './shared/settings.ts'
import { findToolFailures } from './shared/tool-failures.ts'
import type { ToolFailure } from './shared/tool-failures.ts'

/** The stored Copilot token, from local files only. */
type TokenState =
  | { readonly kind: 'usable'; readonly untilMs: number }
  | { readonly kind: 'expired' }
  /** The GitHub token is sent to Copilot itself. */
  | { readonly kind: 'direct' }
  | { readonly kind: 'none' }

/**
 * Shows logins, tokens, daemon and files, from this machine only. Returns 2 when the configuration is invalid, 1 when a
 * stored login cannot be read, 3 when there is no login.
 */
export async function status(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const read = await readSettings(context, flags.config)
  const problems = read.ok ? [] : read.error.problems
  const settings = read.ok ? read.settings : await spareSettings(context, read.places)
  const files = findStateFiles(context)
  const background = await findRunningDaemon(context, files)
  const [stored, codex, { url, health }] = await Promise.all([
    readCopilotState(context, settings),
    readCodexState(context, settings),
    findDaemon(context, settings, { findBackground: () => Promise.resolve(background) }),
  ])
  const holder = health === undefined ? await findPortHolder(context.fetch, serverOf(url)) : undefined
  const token = tokenState(stored.login?.record, settings, context.now())
  const callerKey = health === undefined ? undefined : await checkCommandKey(context, settings, url)
  const toolFailures = health === undefined ? [] : await findToolFailures(context, settings)
  const { logFile } = files
  const findings = {
    ...stored,
    callerKey,
    token,
    codex,
    url,
    health,
    holder,
    background,
    logFile,
    problems,
    toolFailures,
  }
  if (flags.json) writeJson(context, statusDocument(context, settings, findings))
  else context.stdout.write(statusText(context, settings, findings))
  if (!read.ok) return exitCode.usage
  if (stored.problem !== undefined || codex.kind === 'problem') return exitCode.failed
  return stored.login === undefined && !hasCodexLogin(codex) ? exitCode.notLoggedIn : exitCode.done
}

/** Replaces an invalid configuration to look for a daemon: defaults and environment, or defaults alone. */
async function spareSettings(context: CommandContext, places: UserFiles): Promise<LoadedSettings> {
  const hasFile = await access(places.configFile).then(
    () => true,
    () => false,
  )
  for (const env of [context.env, {}]) {
    const loaded = loadConfig({ file: undefined, env, flags: [] })
    if (loaded.ok)
      return { ...places, config: loaded.value, sources: loaded.sources, warnings: loaded.warnings, hasFile }
  }
  throw new Error('the defaults are invalid')
}

function serverOf(url: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url)
  // URLs have IPv6 addresses in brackets.
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || 80) }
}

interface Findings extends CopilotState {
  readonly token: TokenState
  readonly codex: CodexState
  readonly url: string
  readonly health: DaemonHealth | undefined
  /** Who listens at the address if no daemon answers. */
  readonly holder: PortHolder | undefined
  readonly background: DaemonRecord | undefined
  readonly logFile: string
  /** Problems of the configuration. The daemon may run with earlier settings, which had none. */
  readonly problems: readonly Problem[]
  /** Undefined if no daemon runs, or it requires no key. */
  readonly callerKey: CallerKeyState | undefined
  /** The sources of tools that failed in the running daemon. */
  readonly toolFailures: readonly ToolFailure[]
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
  const { login, token, codex, problems, toolFailures } = findings
  const { style } = context.stdout
  const location = login?.record && openRecords(context, settings).locationOf(login.record.id)
  const file = settings.hasFile ? settings.configFile : `${settings.configFile} (does not exist; using the defaults)`
  return formatPairs(
    [
      ['Copilot', describeLogin(findings, style)],
      ['Token', login?.record === undefined ? '' : describeToken(token, context.now())],
      ['Stored in', location === undefined ? '' : visible(describePlace(location, settings))],
      ...codexLines(codex, style, context.now()),
      ['Daemon', describeDaemon(findings)],
      ['Key', style.red(describeCallerKey(findings))],
      ...toolFailures.map(
        ({ source, reason }, index) =>
          [index === 0 ? 'Tools' : '', style.red(visible(`${source}: ${reason}`))] as const,
      ),
      ['Background', describeBackground(findings)],
      ['Config', problems.length === 0 ? file : style.red(invalidConfig(problems))],
      ...problems.map((problem) => ['', style.red(visible(formatConfigError({ problems: [problem] })))] as const),
      ['Version', context.version],
    ],
    style,
  )
}

/** Lines for `formatPairs`. */
function codexLines(
  state: CodexState,
  style: Style,
  nowMs: number,
): readonly (readonly [label: string, value: string])[] {
  switch (state.kind) {
    case 'off':
      return [['Codex', 'off (codex.enabled: false)']]
    case 'nobody':
      return [['Codex', style.yellow(visible(`${state.detail}. ${state.fix}`))]]
    case 'problem':
      return [['Codex', style.red(visible(state.sentence))]]
    case 'api-key':
      return [['Codex', 'API key from codex.api-key']]
    case 'login':
    case 'codex-cli':
      return [
        ['Codex', visible(describeCodexLogin(state))],
        ['Codex token', describeCodexToken(state, nowMs)],
        [state.kind === 'login' ? 'Stored in' : 'Read from', visible(state.location)],
      ]
  }
}

function describeCodexToken({ kind, untilMs }: CodexLogin, nowMs: number): string {
  if (untilMs <= nowMs) {
    return kind === 'login' ? 'expired; the next request renews it' : 'expired. Start codex once to renew it'
  }
  const life = untilMs === Infinity ? 'valid until OpenAI revokes it' : `valid for ${lengthOf(untilMs - nowMs)}`
  return `${life}, then renewed ${kind === 'login' ? 'automatically' : 'by Codex CLI'}`
}

/** Words a duration in minutes, hours or days: the largest unit that gives at least two. */
function lengthOf(ms: number): string {
  const minutes = Math.ceil(ms / 60_000)
  if (minutes < 120) return `${minutes} minutes`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
}

function describeLogin({ login, problem, problems }: Findings, style: Style): string {
  if (problem !== undefined) return style.red(visible(problem))
  // The settings might name another store.
  if (login === undefined && problems.length > 0) return style.yellow('unknown, because the configuration is invalid')
  if (login === undefined) return style.yellow('not logged in. Run: copilot-proxy login')
  const { record } = login
  if (record === undefined) return 'token from COPILOT_GITHUB_TOKEN'
  const { sku, github_base_url: baseUrl } = record.metadata
  const plan = planNameOfSku(sku) ?? sku
  const host = baseUrl !== undefined && URL.canParse(baseUrl) ? ` at ${new URL(baseUrl).host}` : ''
  return visible(`${record.label}${host}${plan === undefined ? '' : `, ${plan}`}`)
}

function describeToken(token: TokenState, nowMs: number): string {
  switch (token.kind) {
    case 'usable':
      return `valid for ${Math.ceil((token.untilMs - nowMs) / 60_000)} minutes, then renewed automatically`
    case 'direct':
      return 'same as the login, valid until you revoke it'
    case 'expired':
      return 'expired; the next request renews it'
    case 'none':
      return 'none yet; the first request gets one'
  }
}

function describeDaemon(findings: Findings): string {
  const { url, health, login } = findings
  if (health === undefined) return describeAbsent(findings)
  const copilot = health.demo ? 'simulated (--demo)' : visible(health.copilot)
  const codex = health.codex === undefined || health.demo ? '' : `, Codex ${visible(health.codex)}`
  const notes = [
    // Without a login the reason is obvious.
    ...(health.copilot === 'unavailable' && login !== undefined ? ['run: copilot-proxy doctor'] : []),
    ...(health.isConfigRefused ? ['it uses older settings, because its configuration file is empty or invalid'] : []),
  ]
  return [`running at ${url}, version ${visible(health.version)}, Copilot ${copilot}${codex}`, ...notes].join('; ')
}

function invalidConfig(problems: readonly Problem[]): string {
  const isInFile = problems.some(({ source }) => source.kind === 'file')
  return isInFile ? 'invalid. Run: copilot-proxy config edit' : 'invalid'
}

function describeCallerKey({ callerKey }: Findings): string {
  if (callerKey === undefined || callerKey === 'ok') return ''
  return keyProblems[callerKey]
}

function describeAbsent({ url, holder, background, problems }: Findings): string {
  if (background?.url === url) return `does not answer at ${url}. Run: copilot-proxy restart`
  // An invalid configuration is the first thing to fix: a start would fail.
  if (problems.length > 0) return `not running at ${url}`
  if (holder?.kind !== 'process') return `not running at ${url}. Run: copilot-proxy start`
  const { name, pid } = holder
  return `not running at ${url}. ${visible(name)} (process ${pid}) uses this port; change server.port`
}

function describeBackground({ background, url, logFile }: Findings): string {
  if (background === undefined) return ''
  const { pid, started_at: startedAt, starter } = background
  const where = background.url === url ? '' : ` at ${visible(background.url)}`
  const since = new Date(startedAt).toLocaleString('sv')
  return `process ${pid}${starter === 'service' ? ' (service)' : ''}${where} since ${since}, log: ${visible(logFile)}`
}

function statusDocument(context: CommandContext, settings: LoadedSettings, findings: Findings): object {
  const { login, problem, token, codex, url, health, background, logFile, callerKey, problems, toolFailures } = findings
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
      caller_key: callerKey === 'outdated' ? 'wrong' : (callerKey ?? null),
      config: health === undefined ? null : health.isConfigRefused ? 'invalid' : 'ok',
    },
    tool_failures: toolFailures.map(({ source, reason }) => ({ source, reason })),
    background: background === undefined ? null : { ...daemonDocument(background), log: logFile },
    config: {
      path: settings.configFile,
      exists: settings.hasFile,
      valid: problems.length === 0,
      problems: problems.map(problemDocument),
    },
  }
}

function codexDocument(state: CodexState, nowMs: number): object {
  const isLogin = state.kind === 'login' || state.kind === 'codex-cli'
  return {
    enabled: state.kind !== 'off',
    login: isLogin
      ? {
          source: state.kind === 'login' ? 'record' : 'codex-cli',
          account: state.account,
          plan: state.plan ?? null,
          record: state.location,
        }
      : state.kind === 'api-key'
        ? { source: 'api-key', account: null, plan: null, record: null }
        : null,
    problem: state.kind === 'problem' ? state.sentence : null,
    token: isLogin
      ? {
          state: state.untilMs > nowMs ? 'usable' : 'expired',
          expires_at: state.untilMs > nowMs && state.untilMs < Infinity ? new Date(state.untilMs).toISOString() : null,
        }
      : { state: 'none', expires_at: null },
  }
}
