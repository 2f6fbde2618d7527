import { once } from 'node:events'
import { createServer } from 'node:net'
import type { PermissionFinding } from '../../auth/records/inspect-permissions.ts'
import type { Environment } from '../../config/environment.ts'
import { ignoredProxy } from '../../config/proxy-variables.ts'
import { formatConfigError, formatSource } from '../../config/problem.ts'
import type { Problem } from '../../config/problem.ts'
import type { Config } from '../../config/schema.ts'
import { createPeerCheck, opennessFix, opennessOf, opennessTexts } from '../../http/access/peer-check.ts'
import type { Openness } from '../../http/access/peer-check.ts'
import type { PolicyDescription } from '../../workspace/policy/policy.ts'
import type { SandboxState } from '../../workspace/sandbox/sandbox.ts'
import { runtimeWarning } from '../serve/start-checks.ts'
import { daemonUrl, keyFix, keyProblems, listenerText } from '../shared/find-daemon.ts'
import type { CallerKeyState, DaemonHealth, Listener } from '../shared/find-daemon.ts'
import { findingsOr, ok, skipped, failed, warning } from './check.ts'
import type { Finding, Findings } from './check.ts'
import type { FailedProbe, Probe, ProbeStage } from './probe.ts'
import { inWords } from '../../upstream-errors/message.ts'

/** Whether the environment names a proxy that this program ignores. The check of the network names the one in use. */
export function judgeProxy(env: Environment): Findings {
  const ignored = ignoredProxy(env)
  return ignored === undefined ? skipped('No proxy is ignored') : warning(ignored.detail, ignored.fix)
}

/** Whether the hosts of a provider can be reached: name, connection, and the proxy in between. */
export function judgeNetwork(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const commands = helpfulCommands(platform)
  const failures = probes.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage !== 'tls'
      ? [
          {
            status: 'failed',
            detail: `${lead(one)}: ${one.reason || 'the connection failed'}`,
            fix: fixes[one.stage](one, commands),
            host: one.host,
          },
        ]
      : [],
  )
  return findingsOr(failures, ok(reachedText(probes)))
}

/** A host that answers slowly or without end has been reached. */
function lead(one: FailedProbe): string {
  return one.stage === 'answer'
    ? `Unexpected answer from ${one.host}${via(one)}`
    : `Cannot reach ${one.host}${via(one)}`
}

function via({ proxy }: Probe): string {
  return proxy === undefined ? '' : ` through the proxy ${proxy.address} (${proxy.variable})`
}

type Fix = (probe: FailedProbe, commands: HelpfulCommands) => string

const fixes: Readonly<Record<Exclude<ProbeStage, 'tls'>, Fix>> = {
  lookup: (one, { ask }) => `Check the internet connection and the DNS of this machine. To test: ${ask(one)}`,
  connect: (one, { ask }) =>
    `Check the firewall, or set HTTPS_PROXY if this machine needs a proxy. To test: ${ask(one)}`,
  proxy: (one, { ask, setVariable, unsetVariable }) => {
    const variable = one.proxy?.variable ?? 'HTTPS_PROXY'
    if (untrusted.has(one.code)) {
      return `If it is the proxy of your company, trust its certificate: ${setVariable('NODE_EXTRA_CA_CERTS', 'FILE.pem')}`
    }
    if (one.code === '407') {
      if (/does not support/.test(one.reason)) return `Start such a local proxy and set ${variable} to its address`
      if (/is wrong/.test(one.reason)) return `Correct the login of the proxy in ${variable}. To test: ${ask(one)}`
      return `Add the login of the proxy to ${variable}, as USER:PASSWORD@ before the host. To test: ${ask(one)}`
    }
    return /^\d{3}$/.test(one.code)
      ? `Ask the administrator of the proxy to allow connections to ${one.host}. To test: ${ask(one)}`
      : `Set ${variable} to a working proxy, or run: ${unsetVariable(variable)}`
  },
  answer: (one, { ask }) => `Check whether a firewall, VPN or proxy blocks the connection. To test: ${ask(one)}`,
}

function reachedText(probes: readonly Probe[]): string {
  const routes = Map.groupBy(probes, via)
  const sentences = [...routes].map(([route, some]) => `${some.map(({ host }) => host).join(', ')} reachable${route}`)
  return sentences.join('; ')
}

/** Whether the hosts of a provider have valid certificates. */
export function judgeTls(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const secure = probes.filter(({ isSecure }) => isSecure)
  const failures = secure.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage === 'tls'
      ? [{ status: 'failed', detail: `${one.host}: ${one.reason}`, fix: fixOf(one, platform), host: one.host }]
      : [],
  )
  const verified = secure.filter(({ kind }) => kind === 'reached')
  if (secure.length === 0) return ok('Not used: all hosts are this machine, over http')
  if (failures.length === 0 && verified.length === 0) return skipped('Unknown: no host answered')
  return findingsOr(failures, ok(`Valid certificates from ${verified.map(({ host }) => host).join(', ')}`))
}

const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

function fixOf(one: FailedProbe, platform: NodeJS.Platform): string {
  const { ask, setClock, setVariable } = helpfulCommands(platform)
  if (untrusted.has(one.code)) {
    const set = setVariable('NODE_EXTRA_CA_CERTS', 'FILE.pem')
    return one.code === 'UNABLE_TO_GET_ISSUER_CERT'
      ? `Add the root certificate of your company to the file: ${set}`
      : `If your company inspects TLS, trust its certificate: ${set}`
  }
  switch (one.code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `Set the clock: ${setClock}. If it is right already, ${one.host} needs a new certificate`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'HOSTNAME_MISMATCH':
      return `Check whether a proxy, VPN or wrong DNS entry answers instead of ${one.host}. To test: ${ask(one)}`
    default:
      return `Check whether a proxy, firewall or antivirus changes TLS connections to ${one.host}. To test: ${ask(one)}`
  }
}

/** A file of additional trusted certificates. */
interface ExtraAuthorities {
  readonly path: string
  /** Why it is unusable, as a clause. */
  readonly problem: string | undefined
}

/** Environment variables that change which certificates are trusted. */
export interface TrustSettings {
  /** `NODE_TLS_REJECT_UNAUTHORIZED`. */
  readonly rejectUnauthorized: string | undefined
  readonly extra: ExtraAuthorities | undefined
}

/** Node ignores an unreadable file, with one warning at its start. */
export function judgeTrust({ rejectUnauthorized, extra }: TrustSettings, platform: NodeJS.Platform): Findings {
  const { unsetVariable } = helpfulCommands(platform)
  const findings: Finding[] = []
  if (rejectUnauthorized === '0') {
    findings.push({
      status: 'warning',
      detail:
        'NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not checked, so others on the network can read your logins',
      fix: `Trust the certificate of your company with NODE_EXTRA_CA_CERTS instead, then run: ${unsetVariable('NODE_TLS_REJECT_UNAUTHORIZED')}`,
    })
  }
  if (extra?.problem !== undefined) {
    findings.push({
      status: 'failed',
      detail: `NODE_EXTRA_CA_CERTS: ${extra.path} ${extra.problem}`,
      fix: `Set NODE_EXTRA_CA_CERTS to a readable PEM file, or run: ${unsetVariable('NODE_EXTRA_CA_CERTS')}`,
    })
  }
  const trusted = extra === undefined ? '' : `; also trusting ${extra.path}`
  return findingsOr(findings, ok(`Certificates are checked${trusted}`))
}

/** Tokens last minutes. Ms. */
const warnsFromMs = 60_000
/** Certificates and logins are refused from here on. Ms. */
const failsFromMs = 5 * 60_000

/** Compares this machine's clock with those of the hosts. The smallest difference counts. */
export function judgeClock(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const clocks = probes.flatMap((one) =>
    one.kind === 'reached' && one.aheadMs !== undefined ? [{ host: one.host, aheadMs: one.aheadMs }] : [],
  )
  const [nearest] = clocks.toSorted((a, b) => Math.abs(a.aheadMs) - Math.abs(b.aheadMs))
  if (nearest === undefined) return skipped('Unknown: no host answered')
  const { host, aheadMs } = nearest
  const off = Math.abs(aheadMs)
  if (off <= warnsFromMs) return ok(`Same time as ${host}`)
  const detail = `${inWords(Math.round(off / 60_000) * 60)} ${aheadMs > 0 ? 'ahead of' : 'behind'} ${host}`
  const fix = `Set the clock of this machine: ${helpfulCommands(platform).setClock}`
  return off > failsFromMs ? failed(detail, fix) : warning(detail, fix)
}

export interface PortFacts {
  readonly host: string
  readonly port: number
  /** The error code of a failed `listen`; undefined if it succeeded. */
  readonly code: string | undefined
  /** The running daemon, whose port may be another one. */
  readonly daemon: { readonly url: string; readonly health: DaemonHealth } | undefined
  /** Used only if the port is in use, and not by this user's daemon. */
  readonly listener: Listener
  /** This program's own. */
  readonly version: string
}

/** Empty if the key is right, or none is needed. */
export function judgeCallerKey(state: CallerKeyState | undefined): readonly Finding[] {
  if (state === undefined || state === 'ok') return []
  const problem = keyProblems[state]
  return failed(`${problem.charAt(0).toUpperCase()}${problem.slice(1)}`, keyFix)
}

/** Whether other users of this machine can call the daemon. */
export function judgeOpenness(openness: Openness): Findings {
  const text = opennessTexts[openness]
  return openness === 'keys' || openness === 'own-user' ? ok(text) : warning(text, opennessFix)
}

/** Whether commands of workspaces can be enclosed. */
export function judgeSandbox({ mode, enclosure }: SandboxState): Findings {
  if (enclosure.kind === 'bubblewrap') return ok(`bubblewrap ${enclosure.version} works`)
  if (mode === 'off') return ok('Off: commands of workspaces run as you, with your files and your network')
  const effect = mode === 'required' ? 'so commands are refused' : 'so commands of workspaces run as you'
  const detail = `${enclosure.reason.replace(/\.$/, '')}, ${effect}`
  return mode === 'required' ? failed(detail, enclosure.fix) : warning(detail, enclosure.fix)
}

export type PolicyFacts =
  | { readonly kind: 'none'; readonly detail: string }
  | ({ readonly kind: 'workspace'; readonly root: string } & Pick<
      PolicyDescription,
      'files' | 'unconfirmed' | 'problem'
    >)

/** Whether the policies of a workspace count. One that nobody has confirmed allows nothing. */
export function judgePolicy(facts: PolicyFacts): Findings {
  if (facts.kind === 'none') return skipped(facts.detail)
  const { root, files, unconfirmed, problem } = facts
  const findings = (problem?.split('\n') ?? []).map((detail): Finding => ({
    status: 'warning',
    detail: `${root}: ${detail.replace(/\.$/, '')}`,
    fix: 'Correct the policy. To check it: copilot-proxy policy check',
  }))
  if (unconfirmed.length > 0) {
    const detail = `Not confirmed, so it allows nothing: ${unconfirmed.join(', ')} in ${root}`
    findings.push({ status: 'warning', detail, fix: 'Read and confirm it: copilot-proxy policy trust' })
  }
  return findingsOr(
    findings,
    files.length === 0 ? skipped(`${root} has no policy`) : ok(`The policy of ${root} is confirmed`),
  )
}

/** Who may call a daemon with these settings. Listens for a moment. */
export async function findOpenness(settings: Config['server']): Promise<Openness> {
  const server = createServer()
  const peers = createPeerCheck()
  try {
    server.listen({ host: '127.0.0.1', port: 0 })
    await once(server, 'listening')
    const address = server.address()
    if (address !== null && typeof address === 'object') await peers.start(address.port)
    return opennessOf(settings, peers.isPossible())
  } finally {
    server.close()
    await peers.close()
  }
}

/** Listens for a moment. @returns the error code if that fails */
export async function tryPort({ host, port }: Pick<PortFacts, 'host' | 'port'>): Promise<string | undefined> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
  } finally {
    server.close()
  }
}

const otherPort = 'Use a free port: copilot-proxy serve --port 0'

/** Whether a daemon can listen, or already does. */
export function judgePort({ host, port, code, daemon, listener, version }: PortFacts): Findings {
  if (daemon?.url === daemonUrl({ host, port })) return judgeRunning(daemon.health, `on port ${port}`, version)
  switch (code) {
    case undefined:
      return daemon === undefined
        ? ok(`${port === 0 ? 'Each start picks a free port' : `${port} is free`}; copilot-proxy is not running`)
        : judgeRunning(daemon.health, `in the background at ${daemon.url}`, version)
    case 'EADDRINUSE':
      return failed(`Port ${port} is in use by ${listenerText(listener)}`, otherPort)
    case 'EACCES':
      return failed(`You are not allowed to listen on port ${port}`, otherPort)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return failed(
        `${host} is not an address of this machine`,
        'Set server.host to 127.0.0.1, or run: copilot-proxy serve --host 127.0.0.1',
      )
    default:
      return failed(`Cannot listen on ${host}, port ${port}: ${code}`, otherPort)
  }
}

/** @param where it runs, after the verb */
function judgeRunning({ demo, isConfigRefused, version: running }: DaemonHealth, where: string, own: string): Findings {
  if (demo) {
    const detail = `copilot-proxy ${where} runs with --demo, so all answers are simulated`
    return warning(detail, 'Stop it: copilot-proxy stop (in a terminal: Ctrl-C). Then run: copilot-proxy serve')
  }
  if (isConfigRefused) {
    return warning(
      `copilot-proxy ${where} uses older settings, because the configuration file is empty or invalid`,
      'Fix the file. To check it: copilot-proxy config check',
    )
  }
  return running === own
    ? ok(`copilot-proxy ${own} runs ${where}`)
    : warning(
        `copilot-proxy ${running} runs ${where}, but version ${own} is installed`,
        'Restart it: copilot-proxy restart (in a terminal: Ctrl-C, then copilot-proxy serve)',
      )
}

/** Commands of an operating system, for remedies. */
interface HelpfulCommands {
  /** Sends the same request as the check, verbosely. */
  readonly ask: (host: Pick<Probe, 'host' | 'isSecure'>) => string
  readonly setVariable: (name: string, value: string) => string
  readonly unsetVariable: (name: string) => string
  /** Synchronises the clock. */
  readonly setClock: string
}

const ofPosix = {
  ask: ({ host, isSecure }) => `curl -vI ${isSecure ? 'https' : 'http'}://${host}/`,
  setVariable: (name, value) => `export ${name}=${value}`,
  unsetVariable: (name) => `unset ${name}`,
  setClock: 'sudo timedatectl set-ntp true',
} satisfies HelpfulCommands

const ofMac: HelpfulCommands = { ...ofPosix, setClock: 'sudo systemsetup -setusingnetworktime on' }

/** For PowerShell, where `curl` is an alias of another command. */
const ofWindows: HelpfulCommands = {
  ask: (host) => ofPosix.ask(host).replace('curl', 'curl.exe'),
  setVariable: (name, value) => `$env:${name}='${value}'`,
  unsetVariable: (name) => `Remove-Item Env:${name}`,
  setClock: 'w32tm /resync',
}

const bySystem: Partial<Record<NodeJS.Platform, HelpfulCommands>> = { darwin: ofMac, win32: ofWindows }

function helpfulCommands(platform: NodeJS.Platform): HelpfulCommands {
  return bySystem[platform] ?? ofPosix
}

export type ConfigState =
  | { readonly kind: 'valid'; readonly path: string; readonly hasFile: boolean }
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[] }
  /** The paths are unknown. A sentence. */
  | { readonly kind: 'nowhere'; readonly problem: string }

export function judgeConfig(state: ConfigState, platform: NodeJS.Platform): Findings {
  switch (state.kind) {
    case 'valid':
      return ok(state.hasFile ? `${state.path} is valid` : `No file at ${state.path}; using the defaults`)
    case 'invalid':
      return findingsOr(
        state.problems.map((problem) => ({
          status: 'failed',
          detail: formatConfigError({ problems: [problem] }),
          fix: `Fix ${problem.key === '' ? 'it' : problem.key} in ${formatSource(problem.source)}. To check: copilot-proxy config check`,
        })),
        ok('Valid'),
      )
    case 'nowhere':
      return failed(
        state.problem,
        `Choose a folder: ${helpfulCommands(platform).setVariable('COPILOT_PROXY_HOME', '/ABSOLUTE/PATH')}`,
      )
  }
}

export interface FileFacts {
  readonly authDir: string
  /** Permissions of the folder of logins and its files. */
  readonly logins: readonly PermissionFinding[]
  /** A configuration file with a key that other users can read. */
  readonly exposedConfig: { readonly detail: string; readonly command: string } | undefined
  /** `auth.strict-permissions`: warnings become failures. */
  readonly strict: boolean
}

/** Whether only this user can access files with credentials. */
export function judgeFiles({ authDir, logins, exposedConfig, strict }: FileFacts): Findings {
  const looseStatus = strict ? 'failed' : 'warning'
  const findings = logins.map(({ problem, detail, fix }): Finding => ({
    status: problem === 'open_to_others' ? looseStatus : 'failed',
    detail,
    fix: `Run: ${fix}`,
  }))
  const ofConfig: readonly Finding[] =
    exposedConfig === undefined
      ? []
      : [{ status: looseStatus, detail: exposedConfig.detail, fix: `Run: ${exposedConfig.command}` }]
  return findingsOr([...findings, ...ofConfig], ok(`Only you can read ${authDir}`))
}

/** @param version as `process.version` */
export function judgeRuntime(version: string): Findings {
  const aged = runtimeWarning(version)
  if (aged === undefined) return ok(`Node.js ${version}`)
  // The problem and the remedy are one sentence each.
  const [detail = aged, fix = 'Install a newer Node.js'] = aged.split(/(?<=\w)\. /)
  return warning(detail, fix.replace(/\.$/, ''))
}
