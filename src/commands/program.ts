import { Argument, Command, CommanderError, Option } from 'commander'
import { RecordStoreError } from '../auth/record-fs.ts'
import { redacted } from '../terminal/output.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { addLaunch, addSetup } from './client-commands.ts'
import { addBackground, addCompletion } from './background-commands.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode, Finish } from './exit-code.ts'
import type { DoctorFlags, KeyFlags, LoginFlags, LogoutFlags, ReportFlags, ServeFlags, UsageFlags } from './flags.ts'
import * as helpText from './help-text.ts'
import { addDefaultAction, serveOptions } from './root-command.ts'

/** A command that reports something, as text or as JSON; loaded when it is asked for. */
type LoadReport = () => Promise<(context: CommandContext, flags: ReportFlags) => Promise<ExitCode>>

/**
 * Runs a command line, without node and script. A failed command's message and everything about wrong usage is on
 * stderr by then. Each command's module is loaded when it is asked for, so that `--help` and `serve` do not pay for
 * what only `login` needs.
 * @throws what no command expected: a defect
 */
export async function runProgram(argv: readonly string[], given: CommandContext): Promise<number> {
  const { redact } = given.secrets
  // What a command tells of a failure may be an upstream’s words, with what it was sent in them.
  const context = { ...given, stdout: redacted(given.stdout, redact), stderr: redacted(given.stderr, redact) }
  let outcome: number = exitCode.done
  const finish: Finish = (code) => {
    outcome = code
  }
  try {
    const program = createProgram(argv, context, finish)
    addDefaultAction(program, argv, context, finish)
    await program.parseAsync(argv, { from: 'user' })
    return outcome
  } catch (error) {
    // commander has written help, version or what is wrong. It exits with 1 on wrong usage; here 1 means failed.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    if (error instanceof CommandFailure || error instanceof RecordStoreError) {
      context.stderr.write(visibleLines(`${error.message}\n`))
      return error instanceof CommandFailure ? error.exitCode : exitCode.failed
    }
    if (context.signal.aborted) return exitCode.interrupted
    throw error
  }
}

function createProgram(argv: readonly string[], context: CommandContext, finish: Finish): Command {
  const program = new Command('copilot-proxy')
    .description(helpText.description)
    .usage('[command] [options]')
    .version(context.version, '-v, --version', 'print the version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => {
      context.stdout.write(`${context.version}\n`)
      throw new CommanderError(exitCode.done, 'commander.version', context.version)
    })
    .option('--config <file>', 'read this configuration file')
    .helpOption('-h, --help', 'show this, or the help of a command')
    .configureOutput({
      writeOut: context.stdout.write,
      writeErr: context.stderr.write,
      outputError: (message, write) => write(tellable(message, argv)),
    })
    .configureHelp({ showGlobalOptions: true, helpWidth: helpText.width })
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .addHelpText('after', helpText.root)
  addLogin(program, context, finish)
  addServe(program, context, finish)
  addLaunch(program, context, finish)
  addSetup(program, context, finish)
  addBackground(program, context, finish)
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
    'show the logins, their tokens and the daemon',
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
  addUsage(program, context, finish)
  addDoctor(program, context, finish)
  addKey(program, context, finish)
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
  addCompletion(program, context, finish)
  program
    .command('version')
    .description('print the version')
    .action(() => context.stdout.write(`${context.version}\n`))
  nameHelp(program, program.name())
  return program
}

/** A wrong command line is answered with where to read more: in the help of the very command. */
function nameHelp(command: Command, name: string): void {
  const hint = command.name() === 'launch' ? ' What is for the client stands behind --.' : ''
  command.showHelpAfterError(`See ${name} --help for what is possible.${hint}`)
  for (const child of command.commands) nameHelp(child, `${name} ${child.name()}`)
}

/** commander repeats what was typed as it is, which may be long, or steer the terminal, or break the line. */
function tellable(message: string, argv: readonly string[]): string {
  const broken = argv.filter((argument) => argument.includes('\n'))
  return visibleLines(broken.reduce((text, argument) => text.replaceAll(argument, visible(argument)), message))
}

function addLogin(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('login')
    .description('connect an account: GitHub Copilot or ChatGPT (codex)')
    .addArgument(new Argument('[provider]', 'whose account: copilot or codex').default('copilot'))
    .option('--no-browser', 'only show what to open, open nothing')
    .option('--device', 'codex: with a code, on a machine without a browser')
    .option('--token-stdin', 'copilot: read a GitHub token from standard input')
    .option('--host <host>', 'copilot: GitHub Enterprise host, as octocorp.ghe.com')
    .addOption(
      new Option('--web', 'copilot: without a code; needs copilot-oauth.client-id').conflicts(['tokenStdin', 'host']),
    )
    .addHelpText('after', helpText.login)
    .action(async (name: string, _flags: unknown, command: Command) => {
      const { login } = await import('./login.ts')
      finish(await login(context, { ...command.optsWithGlobals<LoginFlags>(), provider: name }))
    })
  program
    .command('logout')
    .description('forget the account in use')
    .argument('[provider]', 'whose account: copilot (meant if you name none) or codex')
    .option('--all', 'forget every account, of both unless you name one')
    .addHelpText('after', helpText.logout)
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const { logout } = await import('./logout.ts')
      finish(await logout(context, { ...command.optsWithGlobals<LogoutFlags>(), provider: name }))
    })
}

function addUsage(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('usage')
    .description('show what is left of the quota, and what was used')
    .option('--json', 'print JSON')
    .addOption(new Option('--line', 'print one line, for status lines').conflicts('json'))
    .addOption(new Option('--by <what>', 'add up by this').choices(['model', 'key', 'day']).default('model'))
    .addHelpText('after', helpText.usage)
    .action(async (_flags: unknown, command: Command) => {
      const { usage } = await import('./usage.ts')
      finish(await usage(context, command.optsWithGlobals<UsageFlags>()))
    })
}

function addDoctor(program: Command, context: CommandContext, finish: Finish): void {
  program
    .command('doctor')
    .description('check what could keep it from working, and say what helps')
    .option('--json', 'print JSON')
    .option('--cache', 'tell why prompts were not read from the cache')
    .addHelpText('after', helpText.doctor)
    .action(async (_flags: unknown, command: Command) => {
      const { doctor } = await import('./doctor.ts')
      finish(await doctor(context, command.optsWithGlobals<DoctorFlags>()))
    })
}

function addKey(program: Command, context: CommandContext, finish: Finish): void {
  const key = program
    .command('key')
    .description('make, list or remove keys for callers')
    .addHelpText('after', helpText.key)
  key
    .command('add')
    .description('make a key and print it')
    .argument('[name]', 'what to call it in the log; key-1, key-2 … if you name none')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.keyAdd)
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const { keyAdd } = await import('./key.ts')
      finish(await keyAdd(context, { ...command.optsWithGlobals<ReportFlags>(), name }))
    })
  key
    .command('list')
    .description('list the keys in force, by name')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.keyList)
    .action(async (_flags: unknown, command: Command) => {
      const { keyList } = await import('./key.ts')
      finish(await keyList(context, command.optsWithGlobals<ReportFlags>()))
    })
  key
    .command('remove')
    .description('take a key out of the configuration')
    .argument('<name>', 'its name, as key list prints it')
    .option('--json', 'print JSON')
    .addHelpText('after', helpText.keyRemove)
    .action(async (name: string, _flags: unknown, command: Command) => {
      const { keyRemove } = await import('./key.ts')
      finish(await keyRemove(context, { ...command.optsWithGlobals<KeyFlags>(), name }))
    })
}

function addServe(program: Command, context: CommandContext, finish: Finish): void {
  const serveCommand = program
    .command('serve')
    .description('answer requests until stopped')
    .addHelpText('after', helpText.serve)
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ServeFlags>()
      // commander knows options that exclude each other, and none that need each other.
      if (flags.json && !flags.detach) command.error("error: option '--json' goes with '--detach' only")
      const { serve } = await import('./serve.ts')
      finish(await serve(context, flags))
    })
  for (const option of serveOptions()) serveCommand.addOption(option)
  serveCommand.option('--json', 'with --detach: print JSON')
}
