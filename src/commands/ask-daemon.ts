import { z } from 'zod'

/** Body of `GET /healthz`; the one route that answers anybody, key or not. */
const health = z.looseObject({
  ok: z.boolean(),
  copilot: z.string(),
  /** Absent where Codex is switched off, or not known to that version. */
  codex: z.string().optional().catch(undefined),
  version: z.string(),
  demo: z.boolean().catch(false),
  /** `invalid`, or absent. */
  config: z.string().optional().catch(undefined),
})

export interface DaemonHealth {
  /** `ok` or `unavailable`. */
  readonly copilot: string
  /** The same; undefined where the daemon offers no Codex models. */
  readonly codex: string | undefined
  readonly version: string
  /** It answers from the simulated Copilot. */
  readonly demo: boolean
  /** Its configuration file is not what is in force: it has been emptied, or is not valid. */
  readonly isConfigRefused: boolean
}

const answerTimeoutMs = 1000

/** Where a daemon bound to this host and port is reached from this machine; a wildcard is reached on loopback. */
export function daemonUrl(server: { readonly host: string; readonly port: number }): string {
  const wildcards: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = wildcards[server.host] ?? server.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`
}

/** What a copilot-proxy at this address says of itself; undefined when nobody, or something else, answers. */
export async function askHealth(
  url: string,
  fetch: typeof globalThis.fetch,
  timeoutMs = answerTimeoutMs,
): Promise<DaemonHealth | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    const answer = health.safeParse(await response.json())
    if (!answer.success) return undefined
    const { copilot, codex, version, demo, config } = answer.data
    return { copilot, codex, version, demo, isConfigRefused: config === 'invalid' }
  } catch {
    return undefined
  }
}
