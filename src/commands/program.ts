import { Argument, Command, CommanderError, Option } from 'commander'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { clients } from '../client-settings/target.ts'
import type { ClientId } from '../client-settings/target.ts'
import { snippets } from '../client-settings/snippets.ts'
import type { SnippetId } from '../client-settings/snippets.ts'
import { redacted } from '../terminal/output.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import type { Shell } from './completion.ts'
import * as helpText from './help-text.ts'
import { CommandFailure, exitCode } from './shared/command.ts'
import type {
  CommandContext,
  DoctorFlags,
  LaunchFlags,
  LoginFlags,
  LogoutFlags,
  LogsFlags,
  ReportFlags,
  RequestsFlags,
  ServeFlags,
  ServiceFlags,
  SetupFlags,
  UsageFlags,
} from './shared/command.ts'

/**
 * Runs a command line, given without node and script. When the returned promise settles, the message of a failed
 * command and everything about wrong usage is on stderr. Each command's module is loaded on demand, so that `--help` and
 * `serve` do not load the modules of `login`.
 * @throws errors that no command expects: defects
 */
export async function runProgram(argv: readonly string[], given: CommandContext): Promise<number> {
  const { redact } = given.secrets
  // An upstream's error message may repeat the request, with its credentials.
  const context = { ...given, stdout: redacted(given.stdout, redact), stderr: redacted(given.stderr, redact) }
  let outcome: number = exitCode.done
  try {
    const program = createProgram(argv, context, (code) => {
      outcome = code
    })
    await program.parseAsync(argv, { from: 'user' })
    return outcome
  } catch (error) {
    // commander has written help, version or the usage error. It exits with 1 on wrong usage; here 1 means failed.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    if (error instanceof CommandFailure || error instanceof RecordStoreError) {
      context.stderr.write(visibleLines(`${error.message}\n`))
      return error instanceof CommandFailure ? error.exitCode : exitCode.failed
    }
    if (context.signal.aborted) return exitCode.interrupted
    throw error
  }
}

const loadService = () => import('./service/service.ts')
const loadKey = () => import('./key.ts')
const loadConfig = () => import('./config.ts')

function add(parent: Command, name: string, summary: string, help: string): Command {
  return parent.command(name).description(summary).addHelpText('after', help)
}

/** @param finish takes the exit code of the command, or of the program that the command ran */
function createProgram(argv: readonly string[], context: CommandContext, finish: (code: number) => void): Command {
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
      outputError: (message, write) => write(printable(message, argv)),
    })
    .configureHelp({ showGlobalOptions: true, helpWidth: helpText.width })
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .addHelpText('after', helpText.root)

  /** A commander action: calls `body` with the options and the arguments of the command line. */
  const run = <Flags extends object, Args extends readonly unknown[] = []>(
    body: (flags: Flags, ...args: Args) => number | Promise<number>,
  ) =>
    async function action(this: Command): Promise<void> {
      // Proof of the cast: the caller names the arguments that its command declares, in their order.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      finish(await body(this.optsWithGlobals<Flags>(), ...(this.processedArgs as unknown as Args)))
    }

  add(program, 'login', 'connect an account: GitHub Copilot or ChatGPT (codex)', helpText.login)
    .addArgument(new Argument('[provider]', 'whose account: copilot or codex').default('copilot'))
    .option('--no-browser', 'only show what to open, open nothing')
    .option('--device', 'codex: with a code, on a machine without a browser')
    .option('--token-stdin', 'copilot: read a GitHub token from standard input')
    .option('--yes', 'do not ask if you are logged in already')
    .option('--host <host>', 'copilot: GitHub Enterprise host, as octocorp.ghe.com')
    .addOption(
      new Option('--web', 'copilot: without a code; needs copilot-oauth.client-id').conflicts(['tokenStdin', 'host']),
    )
    .action(
      run(async (flags: LoginFlags, provider: string) =>
        (await import('./login/login.ts')).login(context, { ...flags, provider }),
      ),
    )
  add(program, 'logout', 'forget the account in use', helpText.logout)
    .argument('[provider]', 'whose account: copilot (meant if you name none) or codex')
    .option('--all', 'forget every account, of both unless you name one')
    .action(
      run(async (flags: LogoutFlags, provider: string | undefined) =>
        (await import('./logout.ts')).logout(context, { ...flags, provider }),
      ),
    )

  const serve = add(program, 'serve', 'answer requests until stopped', helpText.serve)
  for (const option of serveOptions()) serve.addOption(option)
  serve.option('--json', 'with --detach: print JSON').action(
    run(async (flags: ServeFlags) => {
      // commander knows options that exclude each other, and none that need each other.
      if (flags.json && !flags.detach) serve.error("error: option '--json' goes with '--detach' only")
      return (await import('./serve/serve.ts')).serve(context, flags)
    }),
  )

  add(program, 'launch', 'start a client that uses the proxy, its own settings untouched', helpText.launch)
    .addArgument(new Argument('<client>', 'which').choices(Object.keys(clients)))
    .argument('[args...]', 'for the client: everything after --')
    .option('--model <model>', 'its main model; the best for it if you name none')
    .option('--demo', 'with a simulated Copilot: no account, no network')
    .action(
      run(async (flags: LaunchFlags, client: ClientId, args: readonly string[]) =>
        (await import('./launch/launch.ts')).launch(context, { ...flags, client, args }),
      ),
    )
  add(program, 'setup', 'have a client use the proxy from now on', helpText.setup)
    .addArgument(new Argument('<client>', 'which').choices(Object.keys(snippets)))
    .option('--model <model>', 'its main model; the best for it if you name none')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--undo', 'take out again what setup wrote')
    .option('--yes', 'do not ask')
    .addOption(new Option('--print', 'print the settings, for you to put in').conflicts(['dryRun', 'undo', 'yes']))
    .action(
      run(async (flags: SetupFlags, client: SnippetId) =>
        (await import('./setup/setup.ts')).setup(context, { ...flags, client }),
      ),
    )

  add(program, 'stop', 'end the daemon that runs in the background', helpText.stop)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await import('./background/stop.ts')).stop(context, flags)))
  add(program, 'restart', 'end it and start it again, with the options it had', helpText.restart)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await import('./background/start-daemon.ts')).restart(context, flags)))
  add(program, 'logs', 'show the log of the daemon in the background', helpText.logs)
    .option('-f, --follow', 'go on with what comes')
    .option('-n, --lines <number>', 'how many lines to begin with', '100')
    .option('--json', 'print one JSON object a line, also on a terminal')
    .action(run(async (flags: LogsFlags) => (await import('./background/logs.ts')).logs(context, flags)))

  const service = add(program, 'service', 'have the system run it: systemd or launchd', helpText.service)
  add(service, 'install', 'make it a service of this user, and start it', helpText.serviceInstall)
    .option('--dry-run', 'print the file that would be written')
    .option('--json', 'print JSON')
    .action(run(async (flags: ServiceFlags) => (await loadService()).serviceInstall(context, flags)))
  add(service, 'uninstall', 'end the service and remove its file', helpText.serviceUninstall)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadService()).serviceUninstall(context, flags)))
  add(service, 'status', 'show what the system knows of it', helpText.serviceStatus)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadService()).serviceStatus(context, flags)))

  add(program, 'status', 'show the logins, their tokens and the daemon', helpText.status)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await import('./status.ts')).status(context, flags)))
  add(program, 'models', 'list the models, or show one', helpText.models)
    .argument('[name]', 'show this model in full')
    .option('--json', 'print JSON')
    .action(
      run(async (flags: ReportFlags, name: string | undefined) =>
        (await import('./models/models.ts')).models(context, { ...flags, name }),
      ),
    )
  add(program, 'usage', 'show what is left of the quota, and what was used', helpText.usage)
    .option('--json', 'print JSON')
    .addOption(new Option('--line', 'print one line, for status lines').conflicts('json'))
    .addOption(new Option('--by <what>', 'add up by this').choices(['model', 'key', 'day']).default('model'))
    .action(run(async (flags: UsageFlags) => (await import('./usage/usage.ts')).usage(context, flags)))
  add(program, 'requests', 'list the last requests, or show one', helpText.requests)
    .argument('[id]', 'show this request in full')
    .option('-f, --follow', 'keep printing new requests')
    .option('-n, --limit <number>', 'number of requests to list', '20')
    .option('--failed', 'failed requests only')
    .option('--key <name>', 'requests with this key only')
    .option('--model <model>', 'requests for this model only')
    .option('--json', 'print JSON; with --follow one object per line')
    .action(
      run(async (flags: RequestsFlags, id: string | undefined) =>
        (await import('./requests/requests.ts')).requests(context, { ...flags, id }),
      ),
    )
  add(program, 'doctor', 'check what could keep it from working, and say what helps', helpText.doctor)
    .option('--json', 'print JSON')
    .option('--verbose', 'show skipped checks too')
    .option('--cache', 'tell why prompts were not read from the cache')
    .action(run(async (flags: DoctorFlags) => (await import('./doctor/doctor.ts')).doctor(context, flags)))

  const key = add(program, 'key', 'make, list or remove keys for callers', helpText.key)
  add(key, 'add', 'make a key and print it', helpText.keyAdd)
    .argument('[name]', 'what to call it in the log; key-1, key-2 … if you name none')
    .option('--json', 'print JSON')
    .action(
      run(async (flags: ReportFlags, name: string | undefined) =>
        (await loadKey()).keyAdd(context, { ...flags, name }),
      ),
    )
  add(key, 'list', 'list the keys in force, with limits and last use', helpText.keyList)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadKey()).keyList(context, flags)))
  add(key, 'remove', 'take a key out of the configuration', helpText.keyRemove)
    .argument('<name>', 'its name, as key list prints it')
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags, name: string) => (await loadKey()).keyRemove(context, { ...flags, name })))

  const config = add(program, 'config', 'find, check or show the configuration', helpText.config)
  add(config, 'path', 'print where the configuration file is', helpText.configPath)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadConfig()).configPath(context, flags)))
  add(config, 'check', 'check the configuration; exit with 2 if it is not valid', helpText.configCheck)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadConfig()).configCheck(context, flags)))
  add(config, 'show', 'print the configuration in force, secrets masked', helpText.configShow)
    .option('--json', 'print JSON')
    .action(run(async (flags: ReportFlags) => (await loadConfig()).configShow(context, flags)))

  add(program, 'completion', 'print a script that completes commands in your shell', helpText.completion)
    .addArgument(new Argument('<shell>', 'which').choices(['bash', 'zsh', 'fish']))
    .action(
      run(async (_flags: object, shell: Shell) => {
        const { completionScript } = await import('./completion.ts')
        context.stdout.write(completionScript(shell, program, serveOptions()))
        return exitCode.done
      }),
    )
  program
    .command('version')
    .description('print the version')
    .action(() => context.stdout.write(`${context.version}\n`))

  nameHelp(program, program.name())
  // With a default action, commander takes every unknown word for an argument, and suggests no similar command.
  if (program.parseOptions([...argv]).operands.length === 0) {
    for (const option of serveOptions()) program.addOption(option.hideHelp())
    refuseBeforeCommand(program)
    program.action(run(async (flags: ServeFlags) => (await import('./serve/serve.ts')).start(context, flags)))
  }
  return program
}

function serveOptions(): readonly Option[] {
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

/** An error of usage ends with a reference to the help of the very command. */
function nameHelp(command: Command, name: string): void {
  const hint = command.name() === 'launch' ? ' What is for the client stands behind --.' : ''
  command.showHelpAfterError(`See ${name} --help for what is possible.${hint}`)
  for (const child of command.commands) nameHelp(child, `${name} ${child.name()}`)
}

/** commander repeats arguments unchanged; they may be long, hold control characters, or break the line. */
function printable(message: string, argv: readonly string[]): string {
  const broken = argv.filter((argument) => argument.includes('\n'))
  return visibleLines(broken.reduce((text, argument) => text.replaceAll(argument, visible(argument)), message))
}

/** In `copilot-proxy --port 5 status`, the program itself would take the option and `status` would not see it. */
function refuseBeforeCommand(program: Command): void {
  program.hook('preSubcommand', (_program, command) => {
    const early = serveOptions().find((option) => program.getOptionValueSource(option.attributeName()) === 'cli')
    if (early === undefined) return
    program.error(
      `error: option '${early.long}' stands before the command '${command.name()}'; options of a command follow it`,
    )
  })
}
