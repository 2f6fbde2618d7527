import { Argument, Command, CommanderError, Option } from 'commander'
import { RecordStoreError } from '../auth/record-fs.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LoginFlags, LogoutFlags, ReportFlags, ServeFlags } from './flags.ts'
import * as helpText from './help-text.ts'

/** Takes what a command ended with. */
type Finish = (code: ExitCode) => void

/** A command that reports something, as text or as JSON; loaded when it is asked for. */
type LoadReport = () => Promise<(context: CommandContext, flags: ReportFlags) => Promise<ExitCode>>

/**
 * Runs a command line, without node and script. A failed command's message and everything about wrong usage is on
 * stderr by then. Each command's module is loaded when it is asked for, so that `--help` and `serve` do not pay for
 * what only `login` needs.
 * @throws what no command expected: a defect
 */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  let outcome: ExitCode = exitCode.done
  const finish: Finish = (code) => {
    outcome = code
  }
  try {
    const program = createProgram(context, finish)
    addDefaultAction(program, argv, context, finish)
    await program.parseAsync(argv, { from: 'user' })
    return outcome
  } catch (error) {
    // commander has written help, version or what is wrong. It exits with 1 on wrong usage; here 1 means failed.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    if (error instanceof CommandFailure || error instanceof RecordStoreError) {
      context.stderr.write(`${error.message}\n`)
      return error instanceof CommandFailure ? error.exitCode : exitCode.failed
    }
    if (context.signal.aborted) return exitCode.interrupted
    throw error
  }
}

function createProgram(context: CommandContext, finish: Finish): Command {
  const program = new Command('copilot-proxy')
    .description(helpText.description)
    .usage('[command] [options]')
    .version(context.version, '-V, --version', 'print the version')
    .option('--config <file>', 'read this configuration file')
    .helpOption('-h, --help', 'show this, or the help of a command')
    .configureOutput({ writeOut: context.stdout.write, writeErr: context.stderr.write })
    .configureHelp({ showGlobalOptions: true, helpWidth: helpText.width })
    .showHelpAfterError('See copilot-proxy --help for what is possible.')
    .exitOverride()
    .addHelpText('after', helpText.root)
  addLogin(program, context, finish)
  addServe(program, context, finish)
  const report = (parent: Command, name: string, summary: string, help: string, load: LoadReport): void => {
    parent
      .command(name)
      .description(summary)
      .option('--json', 'print JSON')
      .addHelpText('after', help)
      .action(async (_flags: unknown, command: Command) => {
        const run = await load()
        finish(await run(context, command.optsWithGlobals<ReportFlags>()))
      })
  }
  report(
    program,
    'status',
    'show the login, its token and the daemon',
    helpText.status,
    async () => (await import('./status.ts')).status,
  )
  report(
    program,
    'models',
    'list the models and what they can do',
    helpText.models,
    async () => (await import('./models.ts')).models,
  )
  report(
    program,
    'usage',
    'show what is left of the quota',
    helpText.usage,
    async () => (await import('./usage.ts')).usage,
  )
  const config = program
    .command('config')
    .description('find, check or show the configuration')
    .addHelpText('after', helpText.config)
  report(
    config,
    'path',
    'print where the configuration file is',
    helpText.configPath,
    async () => (await import('./config.ts')).configPath,
  )
  report(
    config,
    'check',
    'check the configuration; exit with 2 if it is not valid',
    helpText.configCheck,
    async () => (await import('./config.ts')).configCheck,
  )
  report(
    config,
    'show',
    'print the configuration in force, secrets masked',
    helpText.configShow,
    async () => (await import('./config.ts')).configShow,
  )
  return program
}

function addLogin(program: Command, context: CommandContext, finish: Finish): void {
  const provider = new Argument('[provider]', 'whose account').choices(['copilot', 'codex']).default('copilot')
  program
    .command('login')
    .description('connect a GitHub account that has Copilot')
    .addArgument(provider)
    .option('--no-browser', 'only show address and code, open nothing')
    .option('--token-stdin', 'read a GitHub token from standard input')
    .option('--host <host>', 'GitHub Enterprise host, such as octocorp.ghe.com')
    .addOption(new Option('--web', 'without a code; needs copilot-oauth.client-id').conflicts(['tokenStdin', 'host']))
    .addHelpText('after', helpText.login)
    .action(async (name: string, _flags: unknown, command: Command) => {
      const { login } = await import('./login.ts')
      finish(await login(context, { ...command.optsWithGlobals<LoginFlags>(), provider: name }))
    })
  program
    .command('logout')
    .description('forget the account in use')
    .addArgument(provider)
    .option('--all', 'forget every account')
    .addHelpText('after', helpText.logout)
    .action(async (name: string, _flags: unknown, command: Command) => {
      const { logout } = await import('./logout.ts')
      finish(await logout(context, { ...command.optsWithGlobals<LogoutFlags>(), provider: name }))
    })
}

function serveOptions(): readonly Option[] {
  return [
    new Option('--port <number>', 'TCP port; 0 picks a free one'),
    new Option('--host <address>', 'address to listen on'),
    new Option('--demo', 'simulated Copilot: no account, no network'),
    new Option('--log-level <level>', 'trace, debug, info, warn, error or silent'),
    new Option('--log-format <format>', 'pretty or json'),
  ]
}

function addServe(program: Command, context: CommandContext, finish: Finish): void {
  const serveCommand = program
    .command('serve')
    .description('answer requests until stopped')
    .addHelpText('after', helpText.serve)
    .action(async (_flags: unknown, command: Command) => {
      const { serve } = await import('./serve.ts')
      finish(await serve(context, command.optsWithGlobals<ServeFlags>()))
    })
  for (const option of serveOptions()) serveCommand.addOption(option)
}

/**
 * Gives a command line that names no command something to do: log in if need be, then serve. Only such a command line:
 * with a default action, commander takes every unknown word for its argument and can no longer suggest the command
 * that was meant.
 */
function addDefaultAction(program: Command, argv: readonly string[], context: CommandContext, finish: Finish): void {
  if (program.parseOptions([...argv]).operands.length > 0) return
  for (const option of serveOptions()) program.addOption(option.hideHelp())
  program.action(async () => {
    const { start } = await import('./start.ts')
    finish(await start(context, program.opts<ServeFlags>()))
  })
}
