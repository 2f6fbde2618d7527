import { access } from 'node:fs/promises'
import { loginStatus } from '../api/status.ts'
import type { CodexStatus, LoginStatus, StatusReport } from '../api/status.ts'
import { loadConfig } from '../config/load.ts'
import { formatConfigError, problemDocument } from '../config/problem.ts'
import type { Problem } from '../config/problem.ts'
import type { Style } from '../terminal/output.ts'
import { formatPairs } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import { daemonDocument, findStateFiles, findRunningDaemon } from './background/background-daemon.ts'
import { describePlace } from './shared/accounts.ts'
import { exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from './shared/command.ts'
import { checkCommandKey, findDaemon, findListener, keyProblems } from './shared/find-daemon.ts'
import type { CallerKeyState, DaemonHealth, Listener } from './shared/find-daemon.ts'
import { describeCodexLogin } from './shared/logins.ts'
import { readSettings } from './shared/settings.ts'
import type { LoadedSettings, UserFiles } from './shared/settings.ts'
import { findToolFailures } from './shared/tool-failures.ts'
import { readOwn, viewOf } from './shared/view.ts'
import { inWords } from '../upstream-errors/message.ts'

/**
 * Shows logins, tokens, daemon and files, from this machine only. Returns 2 when the configuration is invalid, 1 when a
 * login cannot be read, 3 when there is no login.
 */
export async function status(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const read = await readSettings(context, flags.config)
  const problems = read.ok ? [] : read.error.problems
  const settings = read.ok ? read.settings : await spareSettings(context, read.places)
  const files = findStateFiles(context)
  const background = await findRunningDaemon(context, files)
  const { url, health } = await findDaemon(context, settings, { findBackground: () => Promise.resolve(background) })
  const remote = await viewOf(context, settings, { url, health })
  const [logins, holder, callerKey, toolFailures] = await Promise.all([
    readOwn(context, settings, '/status', loginStatus, remote),
    health === undefined ? findListener(Number(new URL(url).port || 80)) : undefined,
    health === undefined ? undefined : checkCommandKey(context, settings, url),
    remote === undefined ? [] : findToolFailures(context, settings, remote),
  ])
  const report: StatusReport = {
    version: context.version,
    ...logins,
    daemon: daemonOf(url, health, callerKey),
    tool_failures: toolFailures.map(({ source, reason }) => ({ source, reason })),
    background: background === undefined ? null : { ...daemonDocument(background), log: files.logFile },
    config: {
      path: settings.configFile,
      exists: settings.hasFile,
      valid: read.ok,
      problems: problems.map(problemDocument),
    },
  }
  if (flags.json) writeJson(context, report)
  else context.stdout.write(statusText(context, settings, report, { holder, callerKey, problems }))
  if (!read.ok) return exitCode.usage
  if (logins.problem !== null || logins.codex.problem !== null) return exitCode.failed
  return logins.login === null && logins.codex.login === null ? exitCode.notLoggedIn : exitCode.done
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

function daemonOf(
  url: string,
  health: DaemonHealth | undefined,
  callerKey: CallerKeyState | undefined,
): StatusReport['daemon'] {
  return {
    url,
    running: health !== undefined,
    version: health?.version ?? null,
    copilot: health?.copilot ?? null,
    codex: health?.codex ?? null,
    demo: health?.demo ?? null,
    caller_key: callerKey === 'outdated' ? 'wrong' : (callerKey ?? null),
    config: health === undefined ? null : health.isConfigRefused ? 'invalid' : 'ok',
  }
}

/** What the text says more than the report. */
interface Findings {
  /** Who listens at the address if no daemon answers. */
  readonly holder: Listener | undefined
  /** Undefined if no daemon runs, or it requires no key. */
  readonly callerKey: CallerKeyState | undefined
  /** Problems of the configuration. The daemon may run with earlier settings, which had none. */
  readonly problems: readonly Problem[]
}

type Line = readonly [label: string, value: string]

function statusText(
  context: CommandContext,
  settings: LoadedSettings,
  report: StatusReport,
  { holder, callerKey, problems }: Findings,
): string {
  const { login, token, codex, tool_failures: toolFailures, config } = report
  const { style } = context.stdout
  const file = config.exists ? config.path : `${config.path} (does not exist; using the defaults)`
  return formatPairs(
    [
      ['Copilot', describeLogin(report, style)],
      ['Token', login?.source === 'record' ? describeToken(token, context.now()) : ''],
      ['Stored in', login?.record ? visible(placeOf(login.record, settings)) : ''],
      ...codexLines(codex, style, context.now()),
      ['Daemon', report.daemon.running ? describeDaemon(report) : describeAbsent(report, holder)],
      ['Key', callerKey === undefined || callerKey === 'ok' ? '' : style.red(keyProblems[callerKey])],
      ...toolFailures.map(({ source, reason }, index): Line => [
        index === 0 ? 'Tools' : '',
        style.red(visible(`${source}: ${reason}`)),
      ]),
      ['Background', describeBackground(report)],
      ['Config', problems.length === 0 ? file : style.red(invalidConfig(problems))],
      ...problems.map((problem): Line => ['', style.red(visible(formatConfigError({ problems: [problem] })))]),
      ['Version', report.version],
    ],
    style,
  )
}

function codexLines(
  { enabled, login, problem, advice, token }: CodexStatus,
  style: Style,
  nowMs: number,
): readonly Line[] {
  if (!enabled) return [['Codex', 'off (codex.enabled: false)']]
  if (problem !== null) return [['Codex', style.red(visible(problem))]]
  if (login === null) return [['Codex', style.yellow(visible(advice ?? 'not logged in'))]]
  if (login.source === 'api-key') return [['Codex', 'API key from codex.api-key']]
  const isOfCli = login.source === 'codex-cli'
  return [
    ['Codex', visible(describeCodexLogin(login.account, login.plan, isOfCli))],
    ['Codex token', describeCodexToken(token, isOfCli, nowMs)],
    [isOfCli ? 'Read from' : 'Stored in', visible(login.record ?? '')],
  ]
}

function describeCodexToken(
  { state, expires_at: expiresAt }: CodexStatus['token'],
  isOfCli: boolean,
  nowMs: number,
): string {
  if (state === 'expired') {
    return isOfCli ? 'expired. Start codex once to renew it' : 'expired; the next request renews it'
  }
  const life = expiresAt === null ? 'valid until OpenAI revokes it' : `valid for ${minutesUntil(expiresAt, nowMs)}`
  return `${life}, then renewed ${isOfCli ? 'by Codex CLI' : 'automatically'}`
}

/** The time until then, at least a minute. */
function minutesUntil(isoTime: string, nowMs: number): string {
  return inWords(Math.max(1, Math.ceil((Date.parse(isoTime) - nowMs) / 60_000)) * 60)
}

/** Whether others can read a file is for `doctor` to say: nobody has made it private here. */
function placeOf(location: string, settings: LoadedSettings): string {
  return settings.config.auth.store === 'file' ? location : describePlace(location, settings)
}

function describeLogin({ login, problem, config }: StatusReport, style: Style): string {
  if (problem !== null) return style.red(visible(problem))
  // The settings might name another store.
  if (login === null && !config.valid) return style.yellow('unknown, because the configuration is invalid')
  if (login === null) return style.yellow('not logged in. Run: copilot-proxy login')
  if (login.source === 'environment') return 'token from COPILOT_GITHUB_TOKEN'
  const plan = login.plan ?? login.sku
  const host = URL.parse(login.host ?? '')
  return visible(`${login.account}${host === null ? '' : ` at ${host.host}`}${plan === null ? '' : `, ${plan}`}`)
}

function describeToken({ state, expires_at: expiresAt }: LoginStatus['token'], nowMs: number): string {
  switch (state) {
    case 'usable':
      return `valid for ${minutesUntil(expiresAt ?? '', nowMs)}, then renewed automatically`
    case 'direct':
      return 'same as the login, valid until you revoke it'
    case 'expired':
      return 'expired; the next request renews it'
    case 'none':
      return 'none yet; the first request gets one'
  }
}

function describeDaemon({ daemon, login }: StatusReport): string {
  const { url, version, codex, demo, config } = daemon
  const copilot = demo ? 'simulated (--demo)' : visible(daemon.copilot ?? '')
  const ofCodex = codex === null || demo ? '' : `, Codex ${visible(codex)}`
  const notes = [
    // Without a login the reason is obvious.
    ...(daemon.copilot === 'unavailable' && login !== null ? ['run: copilot-proxy doctor'] : []),
    ...(config === 'invalid' ? ['it uses older settings, because its configuration file is empty or invalid'] : []),
  ]
  return [`running at ${url}, version ${visible(version ?? '')}, Copilot ${copilot}${ofCodex}`, ...notes].join('; ')
}

function invalidConfig(problems: readonly Problem[]): string {
  const isInFile = problems.some(({ source }) => source.kind === 'file')
  return isInFile ? 'invalid. Run: copilot-proxy config edit' : 'invalid'
}

function describeAbsent({ daemon, background, config }: StatusReport, holder: Listener | undefined): string {
  const { url } = daemon
  if (background?.url === url) return `does not answer at ${url}. Run: copilot-proxy restart`
  // An invalid configuration is the first thing to fix: a start would fail.
  if (!config.valid) return `not running at ${url}`
  if (holder?.kind !== 'process') return `not running at ${url}. Run: copilot-proxy start`
  const { name, pid } = holder
  return `not running at ${url}. ${visible(name)} (process ${pid}) uses this port; change server.port`
}

function describeBackground({ background, daemon }: StatusReport): string {
  if (background === null) return ''
  const { pid, started_at: startedAt, starter, url, log } = background
  const where = url === daemon.url ? '' : ` at ${visible(url)}`
  const since = new Date(startedAt).toLocaleString('sv')
  return `process ${pid}${starter === 'service' ? ' (service)' : ''}${where} since ${since}, log: ${visible(log)}`
}
