import { once } from 'node:events'
import { createServer } from 'node:net'
import type { PermissionFinding } from '../../auth/records/inspect-permissions.ts'
import { formatConfigError, formatSource } from '../../config/problem.ts'
import type { Problem } from '../../config/problem.ts'
import { runtimeWarning } from '../serve/start-checks.ts'
import type { PortHolder } from '../shared/find-daemon.ts'
import { findingsOr, ok, skipped, failed, warning } from './check.ts'
import type { Finding, Findings } from './check.ts'
import type { FailedProbe, Probe, ProbeStage } from './probe.ts'

/** Whether the hosts of a provider can be reached: name, connection, and the proxy in between. */
export function judgeNetwork(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const commands = helpfulCommands(platform)
  const failures = probes.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage !== 'tls'
      ? [
          {
            status: 'failed',
            detail: `${lead(one)}: ${one.reason || 'the connection failed'}${statusOf(one)}`,
            fix: fixes[one.stage](one, commands),
          },
        ]
      : [],
  )
  return findingsOr(failures, ok(reachedText(probes)))
}

/** A host that answers slowly or without end has been reached. */
function lead(one: FailedProbe): string {
  return one.stage === 'answer'
    ? `${one.host} was reached${via(one)}, but gave no proper answer`
    : `${one.host} cannot be reached${via(one)}`
}

function via({ proxy }: Probe): string {
  return proxy === undefined ? '' : ` through the proxy ${proxy.address} (${proxy.variable})`
}

function statusOf({ code }: FailedProbe): string {
  return /^\d{3}$/.test(code) ? ` (it answered ${code})` : ''
}

type Fix = (probe: FailedProbe, commands: HelpfulCommands) => string

const fixes: Readonly<Record<Exclude<ProbeStage, 'tls'>, Fix>> = {
  lookup: (one, { ask }) => `Bring this machine online, with a DNS that knows ${one.host}. To try: ${ask(one)}`,
  connect: (one, { ask }) =>
    `Let this machine reach ${one.host}, directly or through a proxy that HTTPS_PROXY names. To try: ${ask(one)}`,
  proxy: (one, { ask, unsetVariable }) => {
    const variable = one.proxy?.variable ?? 'HTTPS_PROXY'
    if (one.code === '407') {
      return `Put the name and password that the proxy asks for into ${variable}, before the host: USER:PASSWORD@. To try: ${ask(one)}`
    }
    return /^\d{3}$/.test(one.code)
      ? `Ask whoever runs the proxy to let connections to ${one.host} through. To try: ${ask(one)}`
      : `Set ${variable} to a proxy that answers, or run: ${unsetVariable(variable)}`
  },
  answer: (one, { ask }) =>
    `Find out whether a firewall, VPN or proxy is in the way, or ${one.host} itself is slow: ${ask(one)}`,
}

function reachedText(probes: readonly Probe[]): string {
  const routes = Map.groupBy(probes, via)
  const sentences = [...routes].map(
    ([route, some]) => `${some.map(({ host }) => host).join(', ')} can be reached${route}`,
  )
  return sentences.join('; ')
}

/** Whether the hosts of a provider have valid certificates. */
export function judgeTls(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const secure = probes.filter(({ isSecure }) => isSecure)
  const failures = secure.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage === 'tls'
      ? [{ status: 'failed', detail: `${one.host}: ${one.reason}`, fix: fixOf(one, platform) }]
      : [],
  )
  const verified = secure.filter(({ kind }) => kind === 'reached')
  if (secure.length === 0) return ok('Not used: the addresses are http, on this machine')
  if (failures.length === 0 && verified.length === 0) return skipped('Not known: no answer came')
  return findingsOr(failures, ok(`The certificates of ${verified.map(({ host }) => host).join(', ')} are good`))
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
    return `Trust the authority of your company, with a file that holds its certificate: ${set}`
  }
  switch (one.code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `Where the clock of this machine is right, ${one.host} needs a new certificate; else set the clock: ${setClock}`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'HOSTNAME_MISMATCH':
      return `Find out whether a proxy, a VPN or a wrong DNS entry answers in place of ${one.host}: ${ask(one)}`
    default:
      return `Find out whether a proxy, firewall or antivirus changes TLS connections to ${one.host}: ${ask(one)}`
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
        'NODE_TLS_REJECT_UNAUTHORIZED=0: anybody on the way can read your logins, because no certificate is checked',
      fix: `NODE_EXTRA_CA_CERTS adds the certificate of a company. Run: ${unsetVariable('NODE_TLS_REJECT_UNAUTHORIZED')}`,
    })
  }
  if (extra?.problem !== undefined) {
    findings.push({
      status: 'failed',
      detail: `NODE_EXTRA_CA_CERTS names ${extra.path}, which ${extra.problem}`,
      fix: `Set NODE_EXTRA_CA_CERTS to a PEM file that this user can read, or run: ${unsetVariable('NODE_EXTRA_CA_CERTS')}`,
    })
  }
  const trusted = extra === undefined ? '' : `, and those of ${extra.path} are trusted too`
  return findingsOr(findings, ok(`Checked${trusted}`))
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
  if (nearest === undefined) return skipped('No reply told the time')
  const { host, aheadMs } = nearest
  const off = Math.abs(aheadMs)
  if (off <= warnsFromMs) return ok(`As ${host} has it`)
  const detail = `${lengthOf(off)} ${aheadMs > 0 ? 'ahead of' : 'behind'} ${host}`
  const fix = `Set the clock of this machine by the network: ${helpfulCommands(platform).setClock}`
  return off > failsFromMs ? failed(detail, fix) : warning(detail, fix)
}

function lengthOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} seconds`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}

export interface PortFacts {
  readonly host: string
  readonly port: number
  /** The error code of a failed `listen`; undefined where it succeeded. */
  readonly code: string | undefined
  /** Only where the port is in use. */
  readonly holder: PortHolder
  /** This program's own. */
  readonly version: string
}

/** Listens for a moment. @returns the error code where that fails */
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

const otherPort = 'Run: copilot-proxy serve --port 0, which picks a free one'

/** Whether a daemon can listen, or already does. */
export function judgePort({ host, port, code, holder, version }: PortFacts): Findings {
  switch (code) {
    case undefined:
      return ok(port === 0 ? 'A free one is picked at each start' : `${port} is free; no daemon runs`)
    case 'EADDRINUSE':
      return judgeHolder(port, holder, version)
    case 'EACCES':
      return failed(`This user may not listen on port ${port}`, otherPort)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return failed(
        `${host} is not an address of this machine`,
        'Set server.host to 127.0.0.1, or run: copilot-proxy serve --host 127.0.0.1',
      )
    default:
      return failed(`Listening on ${host}, port ${port}, is not possible: ${code}`, otherPort)
  }
}

function judgeHolder(port: number, holder: PortHolder, version: string): Findings {
  switch (holder.kind) {
    case 'copilot-proxy':
      if (holder.demo) {
        const detail = `The copilot-proxy on port ${port} gives simulated answers (--demo)`
        return warning(detail, 'Stop it (Ctrl-C), then run: copilot-proxy serve')
      }
      if (holder.isConfigRefused) {
        return warning(
          `The copilot-proxy on port ${port} runs with older settings: its configuration file is empty or not valid`,
          'Put the file right, then run: copilot-proxy config check',
        )
      }
      return holder.version === version
        ? ok(`copilot-proxy ${version} runs on port ${port}`)
        : warning(
            `copilot-proxy ${holder.version} runs on port ${port}; this is ${version}`,
            'Stop it (Ctrl-C), then run: copilot-proxy serve',
          )
    case 'process':
      return failed(`Port ${port} is in use by ${holder.name} (process ${holder.pid})`, otherPort)
    case 'unknown':
      return failed(`Port ${port} is in use by another program`, otherPort)
  }
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
      return ok(state.hasFile ? `${state.path} is valid` : `There is no file at ${state.path}; defaults are in force`)
    case 'invalid':
      return findingsOr(
        state.problems.map((problem) => ({
          status: 'failed',
          detail: formatConfigError({ problems: [problem] }),
          fix: `Correct ${problem.key === '' ? 'that' : problem.key} in ${formatSource(problem.source)}, then run: copilot-proxy config check`,
        })),
        ok('Valid'),
      )
    case 'nowhere':
      return failed(
        state.problem,
        `Name a folder: ${helpfulCommands(platform).setVariable('COPILOT_PROXY_HOME', '/ABSOLUTE/PATH')}`,
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
  return findingsOr([...findings, ...ofConfig], ok(`${authDir} is open to nobody else`))
}

/** @param version as `process.version` */
export function judgeRuntime(version: string): Findings {
  const aged = runtimeWarning(version)
  if (aged === undefined) return ok(`Node.js ${version}`)
  // The problem and the remedy are one sentence each.
  const [detail = aged, fix = 'Install a newer Node.js'] = aged.split(/(?<=\w)\. /)
  return warning(detail, fix.replace(/\.$/, ''))
}
