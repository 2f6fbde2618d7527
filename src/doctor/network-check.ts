import { findingsOr, ok } from './check.ts'
import type { Finding, Findings } from './check.ts'
import { helpfulCommands } from './helpful-command.ts'
import type { HelpfulCommands } from './helpful-command.ts'
import type { FailedProbe, Probe, ProbeStage } from './probe.ts'

/** Whether the hosts of a provider can be reached: name, connection, and the proxy on the way. */
export function judgeNetwork(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const commands = helpfulCommands(platform)
  const troubles = probes.flatMap((one): readonly Finding[] =>
    one.kind === 'failed' && one.stage !== 'tls'
      ? [
          {
            status: 'failed',
            detail: `${lead(one)}: ${one.trouble || 'the connection failed'}${statusOf(one)}`,
            fix: fixes[one.stage](one, commands),
          },
        ]
      : [],
  )
  return findingsOr(troubles, ok(reachedText(probes)))
}

/** One that is slow, or never ends, has been reached. */
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
  const ways = Map.groupBy(probes, via)
  const sentences = [...ways].map(([way, some]) => `${some.map(({ host }) => host).join(', ')} can be reached${way}`)
  return sentences.join('; ')
}
