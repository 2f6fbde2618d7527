import { selfCheck } from '../../api/state.ts'
import { compareNetworks, fingerprints, networkVariables } from '../../config/network-variables.ts'
import type { NetworkDifference } from '../../config/network-variables.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { ownerHash } from '../../http/access/owner-access.ts'
import { findRunningDaemon, findStateFiles } from '../background/background-daemon.ts'
import { providerNames } from '../shared/accounts.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { KeyRefused } from '../shared/find-daemon.ts'
import { DaemonGone, RouteRefused } from '../shared/view.ts'
import type { RemoteView } from '../shared/view.ts'
import { ok, skipped, warning } from './check.ts'
import type { Finding, Findings } from './check.ts'

/** How the daemon was started, which decides how to restart it. */
type Starter = 'service' | 'detach' | 'terminal'

/** What the running daemon says about itself. */
export type DaemonFacts =
  | { readonly kind: 'skipped'; readonly detail: string }
  /** It is a version without this answer. `isUnavailable`: it says that Copilot is unavailable. */
  | { readonly kind: 'older'; readonly isUnavailable: boolean; readonly starter: Starter }
  | {
      readonly kind: 'answer'
      readonly url: string
      readonly starter: Starter
      /** Providers that answered the daemon. */
      readonly reached: readonly ProviderId[]
      /** Providers that the daemon cannot use although this command has a login, with its reason, a sentence. */
      readonly failures: readonly DaemonFailure[]
      /** Undefined if only the owner may know them. */
      readonly differences: readonly NetworkDifference[] | undefined
    }

interface DaemonFailure {
  readonly provider: ProviderId
  readonly reason: string
  /** This command uses the provider without a problem. */
  readonly worksHere: boolean
}

/** The daemon itself waits 15 s for providers. Ms. */
const answerMs = 18_000

/**
 * Asks the running daemon whether it can use the providers.
 * @param worksHere whether this command can use a provider; undefined without a login, which other checks report
 */
export async function findDaemonFacts(
  context: CommandContext,
  daemon: RemoteView | undefined,
  worksHere: (provider: ProviderId) => Promise<boolean | undefined>,
): Promise<DaemonFacts> {
  if (daemon === undefined) return { kind: 'skipped', detail: 'copilot-proxy is not running' }
  const { health, ownerToken, address } = daemon
  const { url } = address
  if (health.demo) return { kind: 'skipped', detail: 'copilot-proxy runs with --demo' }
  const starter = await findStarter(context, url)
  const read = await daemon.get('/self-check', selfCheck, { timeoutMs: answerMs }).catch((error: unknown) => {
    if (error instanceof CommandFailure) return error
    throw error
  })
  // The check of the port reports a wrong key.
  if (read instanceof KeyRefused) return { kind: 'skipped', detail: 'copilot-proxy needs a key' }
  if (read instanceof DaemonGone) return { kind: 'skipped', detail: 'copilot-proxy did not answer in time' }
  if (read instanceof RouteRefused && read.status !== 404) {
    return { kind: 'skipped', detail: `copilot-proxy answered ${read.status}` }
  }
  if (read instanceof CommandFailure) return { kind: 'older', isUnavailable: health.copilot === 'unavailable', starter }
  const { copilot, codex, variables } = read
  const reached: ProviderId[] = []
  const failures: DaemonFailure[] = []
  for (const [provider, state] of [['copilot', copilot] as const, ['codex', codex] as const]) {
    if (state?.ok === true) reached.push(provider)
    if (state?.ok !== false) continue
    const works = await worksHere(provider)
    if (works !== undefined)
      failures.push({ provider, reason: withoutHint(state.reason) || 'it gave no reason', worksHere: works })
  }
  const differences =
    ownerToken === undefined || variables === undefined ? undefined : compare(context, ownerToken, variables)
  return { kind: 'answer', url, starter, reached, failures, differences }
}

/** Removes the advice to run this command. */
function withoutHint(reason = ''): string {
  return reason.replace(/(?:To find|For) the cause, run: copilot-proxy doctor(?:\. |\.?$)/, '').trim()
}

/** @param theirs as fingerprints */
function compare(
  { env, workingDir }: CommandContext,
  token: string,
  theirs: Readonly<Record<string, string>>,
): readonly NetworkDifference[] {
  return compareNetworks(fingerprints(networkVariables(env, workingDir), ownerHash(token)), theirs)
}

/** A record that cannot be read is reported by `status`. */
async function findStarter(context: CommandContext, url: string): Promise<Starter> {
  const record = await findRunningDaemon(context, findStateFiles(context)).catch(() => undefined)
  return record?.url === url ? record.starter : 'terminal'
}

const restarts: Readonly<Record<Starter, string>> = {
  detach: 'Restart it from this shell: copilot-proxy restart',
  service: 'Install it again from this shell, which gives it these variables: copilot-proxy service install',
  terminal: 'Stop it in its terminal (Ctrl-C), then start it from this shell: copilot-proxy serve',
}

/** Whether the running daemon can use the providers, which its own environment decides and not that of this command. */
export function judgeDaemon(facts: DaemonFacts): Findings {
  if (facts.kind === 'skipped') return skipped(facts.detail)
  if (facts.kind === 'older') {
    const detail = 'The running copilot-proxy is another version, which cannot say what it reaches'
    return facts.isUnavailable
      ? warning(`${detail}. It says that Copilot is unavailable`, restarts[facts.starter])
      : skipped(detail)
  }
  const { url, starter, reached, failures, differences = [] } = facts
  const environment =
    differences.length === 0 ? '' : `. Its environment differs from this shell: ${listed(differences)}`
  // What fails here as well, in the same environment, is reported by the checks of that provider.
  const own = failures.filter(({ worksHere }) => worksHere || differences.length > 0)
  const findings = own.map(({ provider, reason }): Finding => {
    const detail = `copilot-proxy at ${url} cannot use ${providerNames[provider]}: ${reason.replace(/\.$/, '')}${environment}`
    return { status: 'failed', detail, fix: fixOf(starter, differences) }
  })
  const [first, ...more] = findings
  if (first !== undefined) return [first, ...more]
  if (failures.length > 0) return skipped('It cannot use the provider for the same reason as this command')
  if (reached.length === 0) return skipped('Nobody is logged in')
  return ok(`copilot-proxy at ${url} reaches ${reached.map((one) => providerNames[one]).join(' and ')}${environment}`)
}

function fixOf(starter: Starter, differences: readonly NetworkDifference[]): string {
  // The file of the service is right, so it needs no other one.
  if (starter === 'service' && differences.length === 0) return 'Restart it: copilot-proxy restart'
  return restarts[starter]
}

function listed(differences: readonly NetworkDifference[]): string {
  const namesOf = (kind: NetworkDifference['kind']): string =>
    differences.flatMap((one) => (one.kind === kind ? [one.name] : [])).join(', ')
  const parts = [
    ['it lacks', namesOf('missing')],
    ['only it has', namesOf('extra')],
    ['it has another value of', namesOf('other')],
  ]
  return parts.flatMap(([start, names]) => (names === '' ? [] : [`${start} ${names}`])).join('; ')
}
