import { once } from 'node:events'
import { createServer } from 'node:net'
import { failed, ok, warning } from './check.ts'
import type { Findings } from './check.ts'

/** Who listens on a port that is in use, as far as that is known. */
export type Holder =
  | {
      readonly kind: 'copilot-proxy'
      readonly version: string
      readonly demo: boolean
      /** Its configuration file is not what is in force. */
      readonly isConfigRefused: boolean
    }
  | { readonly kind: 'process'; readonly pid: number; readonly name: string }
  | { readonly kind: 'unknown' }

export interface PortFacts {
  readonly host: string
  readonly port: number
  /** The system's word for why one cannot listen there; undefined when one can. */
  readonly code: string | undefined
  /** Of a port that is in use. */
  readonly holder: Holder
  /** This program's own. */
  readonly version: string
}

/** Listens for a moment. @returns the system's word for why that is not possible; undefined when it is */
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

/** Whether a daemon could listen, or already does. */
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

function judgeHolder(port: number, holder: Holder, version: string): Findings {
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
