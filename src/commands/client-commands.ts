import { Argument, Option } from 'commander'
import type { Command } from 'commander'
import { clients } from '../client-settings/clients.ts'
import type { ClientId } from '../client-settings/clients.ts'
import { snippets } from '../client-settings/snippets.ts'
import type { SnippetId } from '../client-settings/snippets.ts'
import type { CommandContext } from './context.ts'
import type { Finish } from './exit-code.ts'
import type { LaunchFlags, SetupFlags } from './flags.ts'
import * as helpText from './help-text.ts'

/** Adds the command that starts a client against the proxy. */
export function addLaunch(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('launch')
    .description('start a client that uses the proxy, its own settings untouched')
    .addArgument(new Argument('<client>', 'which').choices(Object.keys(clients)))
    .argument('[args...]', 'for the client: everything after --')
    .option('--model <model>', 'its main model; the best for it if you name none')
    .option('--demo', 'with a simulated Copilot: no account, no network')
    .addHelpText('after', helpText.launch)
    .action(async (client: ClientId, args: readonly string[], _flags: unknown, command: Command) => {
      const { launch } = await import('./launch.ts')
      finish(await launch(context, { ...command.optsWithGlobals<LaunchFlags>(), client, args }))
    })
}

/** Adds the command that writes the settings of a client, or prints them. */
export function addSetup(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('setup')
    .description('have a client use the proxy from now on')
    .addArgument(new Argument('<client>', 'which').choices(Object.keys(snippets)))
    .option('--model <model>', 'its main model; the best for it if you name none')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--undo', 'take out again what setup wrote')
    .option('--yes', 'do not ask')
    .addOption(new Option('--print', 'print the settings, for you to put in').conflicts(['dryRun', 'undo', 'yes']))
    .addHelpText('after', helpText.setup)
    .action(async (client: SnippetId, _flags: unknown, command: Command) => {
      const { setup } = await import('./setup.ts')
      finish(await setup(context, { ...command.optsWithGlobals<SetupFlags>(), client }))
    })
}
