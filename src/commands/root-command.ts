import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandContext } from './context.ts'
import type { Finish } from './exit-code.ts'
import type { ServeFlags } from './flags.ts'

export function serveOptions(): readonly Option[] {
  return [
    new Option('--port <number>', 'TCP port; 0 picks a free one'),
    new Option('--host <address>', 'address to listen on'),
    new Option('--demo', 'simulated Copilot and Codex: no account, no network'),
    new Option('--log-level <level>', 'trace, debug, info, warn, error or silent'),
    new Option('--log-format <format>', 'auto, pretty or json'),
    new Option('--detach', 'run in the background; return once it answers').conflicts('logFormat'),
    new Option('--background <starter>').choices(['detach', 'service']).hideHelp(),
  ]
}

/**
 * Gives a command line that names no command something to do: log in if need be, then serve. Only such a command line:
 * with a default action, commander takes every unknown word for its argument and can no longer suggest the command
 * that was meant.
 */
export function addDefaultAction(
  program: Command,
  argv: readonly string[],
  context: CommandContext,
  finish: Finish,
): void {
  if (program.parseOptions([...argv]).operands.length > 0) return
  for (const option of serveOptions()) program.addOption(option.hideHelp())
  refuseBeforeCommand(program)
  program.action(async () => {
    const { start } = await import('./start.ts')
    finish(await start(context, program.opts<ServeFlags>()))
  })
}

/** `copilot-proxy --port 5 status` names a command after all, which would drop the option, or take it for its own. */
function refuseBeforeCommand(program: Command): void {
  program.hook('preSubcommand', (_program, command) => {
    const early = serveOptions().find((option) => program.getOptionValueSource(option.attributeName()) === 'cli')
    if (early === undefined) return
    program.error(
      `error: option '${early.long}' stands before the command '${command.name()}'; options of a command follow it`,
    )
  })
}
