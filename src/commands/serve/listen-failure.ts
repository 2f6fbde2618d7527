import type { Config } from '../../config/schema.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { daemonUrl, findPortHolder } from '../shared/find-daemon.ts'

/** The message for a failed `listen`; undefined for any other error. */
export async function toListenFailure(
  context: CommandContext,
  server: Config['server'],
  error: unknown,
): Promise<CommandFailure | undefined> {
  const { host, port } = server
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new CommandFailure(exitCode.failed, await portInUse(context, server), { cause: error })
    case 'EACCES':
      return new CommandFailure(
        exitCode.failed,
        `This user may not listen on port ${port}; ports below 1024 often need more rights.`,
        { cause: error },
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new CommandFailure(exitCode.failed, `${host} is not an address of this machine (server.host, --host).`, {
        cause: error,
      })
    default:
      return undefined
  }
}

async function portInUse(context: CommandContext, server: Config['server']): Promise<string> {
  const { host, port } = server
  const holder = await findPortHolder({ host, port, fetch: context.fetch, procDir: '/proc' })
  const choose = 'Choose another with --port or the setting server.port; 0 picks a free one.'
  switch (holder.kind) {
    case 'copilot-proxy':
      return (
        `copilot-proxy ${holder.version} is already running at ${daemonUrl(server)}` +
        `${holder.demo ? ', with simulated answers (--demo)' : ''}. ` +
        'Use that one, end it, or choose another port: --port, or the setting server.port.'
      )
    case 'process':
      return `Port ${port} is in use by ${holder.name} (process ${holder.pid}). ${choose}`
    case 'unknown':
      return `Port ${port} is in use by another program. ${choose}`
  }
}
