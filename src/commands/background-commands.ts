import { Argument } from 'commander'
import type { Command } from 'commander'
import type { Shell } from './completion.ts'
import type { CommandContext } from './context.ts'
import type { Finish } from './exit-code.ts'
import type { LogsFlags, ReportFlags, ServiceFlags } from './flags.ts'
import * as helpText from './help-text.ts'

/** Adds the commands around a daemon in the background: one of `serve --detach`, or a service of the system. */
export function addBackground(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('stop')
    .description('end the daemon that runs in the background')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.stop)
    .action(async (_flags: unknown, command: Command) => {
      const { stop } = await import('./stop.ts')
      finish(await stop(context, command.optsWithGlobals<ReportFlags>()))
    })
  program
    .command('restart')
    .description('end it and start it again, with the options it had')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.restart)
    .action(async (_flags: unknown, command: Command) => {
      const { restart } = await import('./restart.ts')
      finish(await restart(context, command.optsWithGlobals<ReportFlags>()))
    })
  program
    .command('logs')
    .description('show the log of the daemon in the background')
    .option('-f, --follow', 'go on with what comes')
    .option('-n, --lines <number>', 'how many lines to begin with', '100')
    .option('--json', 'print one JSON object a line, also on a terminal')
    .addHelpText('after', helpText.logs)
    .action(async (_flags: unknown, command: Command) => {
      const { logs } = await import('./logs.ts')
      finish(await logs(context, command.optsWithGlobals<LogsFlags>()))
    })
  addService(program, context, finish)
}

function addService(program: Command, context: CommandContext, finish: Finish): void {
  const service = program
    .command('service')
    .description('have the system run it: systemd or launchd')
    .addHelpText('after', helpText.service)
  service
    .command('install')
    .description('make it a service of this user, and start it')
    .option('--dry-run', 'print the file that would be written')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.serviceInstall)
    .action(async (_flags: unknown, command: Command) => {
      const { serviceInstall } = await import('./service.ts')
      finish(await serviceInstall(context, command.optsWithGlobals<ServiceFlags>()))
    })
  service
    .command('uninstall')
    .description('end the service and remove its file')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.serviceUninstall)
    .action(async (_flags: unknown, command: Command) => {
      const { serviceUninstall } = await import('./service.ts')
      finish(await serviceUninstall(context, command.optsWithGlobals<ReportFlags>()))
    })
  service
    .command('status')
    .description('show what the system knows of it')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.serviceStatus)
    .action(async (_flags: unknown, command: Command) => {
      const { serviceStatus } = await import('./service.ts')
      finish(await serviceStatus(context, command.optsWithGlobals<ReportFlags>()))
    })
}

export function addCompletion(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('completion')
    .description('print a script that completes commands in your shell')
    .addArgument(new Argument('<shell>', 'which').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', helpText.completion)
    .action(async (shell: Shell) => {
      const { completion } = await import('./completion.ts')
      finish(completion(context, shell, program))
    })
}
