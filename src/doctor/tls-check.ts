import { findingsOr, ok, skipped } from './check.ts'
import type { Finding, Findings } from './check.ts'
import { helpfulCommands } from './helpful-command.ts'
import type { FailedProbe, Probe } from './probe.ts'

/** Whether the hosts of a provider prove who they are. */
export function judgeTls(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const secure = probes.filter(({ isSecure }) => isSecure)
  const troubles = secure.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage === 'tls'
      ? [{ status: 'failed', detail: `${one.host}: ${one.trouble}`, fix: fixOf(one, platform) }]
      : [],
  )
  const verified = secure.filter(({ kind }) => kind === 'reached')
  if (secure.length === 0) return ok('Not used: the addresses are http, on this machine')
  if (troubles.length === 0 && verified.length === 0) return skipped('Not known: no answer came')
  return findingsOr(troubles, ok(`The certificates of ${verified.map(({ host }) => host).join(', ')} are good`))
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

/** A file of certificates that is to be trusted. */
interface ExtraAuthorities {
  readonly path: string
  /** Why it is of no use, as a clause; undefined where it is good. */
  readonly problem: string | undefined
}

/** What the environment changes about whom this program trusts. */
export interface TrustSettings {
  /** `NODE_TLS_REJECT_UNAUTHORIZED`. */
  readonly rejectUnauthorized: string | undefined
  readonly extra: ExtraAuthorities | undefined
}

/** Node ignores a file that it cannot read, with a line at its start that is soon forgotten. */
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
