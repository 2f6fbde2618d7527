import { Argument, Command, CommanderError, Option } from 'commander'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { clients } from '../client-settings/target.ts'
import { snippets, waitingClients } from '../client-settings/snippets.ts'
import { logLevels } from '../config/schema.ts'
import { nearMatch } from '../config/near-match.ts'
import { redacted } from '../terminal/output.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import type { ValueKind } from './complete-values.ts'
import type { Shell } from './completion.ts'
import { description, helpText, helpWidth, renderHelp, rootHelp, type HelpText } from './help-text.ts'
import { CommandFailure, exitCode } from './shared/command.ts'
import type { CommandContext, PolicyFlags, ServeFlags } from './shared/command.ts'

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

const loadAccount = () => import('./account.ts')
const loadService = () => import('./service/service.ts')
const loadKey = () => import('./key.ts')
const loadPolicy = () => import('./policy.ts')
const loadPolicyRules = () => import('./policy-rules.ts')
const loadGateway = () => import('./gateway.ts')
const loadConfig = () => import('./config/config.ts')
const loadConfigChange = () => import('./config/change.ts')

/** What the module of a command exports. */
type Body<Flags> = (context: CommandContext, flags: Flags) => number | Promise<number>

function add(parent: Command, name: string, summary: string, help: HelpText): Command {
  const command = parent.command(name).description(summary)
  return command.addHelpText('after', () => renderHelp(help, command.createHelp()))
}

/** The name and the summary of the command that every command with subcommands has. */
const helpCommand = ['help [command]', 'show help for a command'] as const

/** @param finish takes the exit code of the command, or of the program that the command ran */
function createProgram(argv: readonly string[], context: CommandContext, finish: (code: number) => void): Command {
  const program = new Command('copilot-proxy')
    .description(description)
    .usage('[command] [options]')
    .version(context.version, '-v, --version', 'print the version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => {
      context.stdout.write(`${context.version}\n`)
      throw new CommanderError(exitCode.done, 'commander.version', context.version)
    })
    .option('--config <file>', 'use this configuration file')
    .helpOption('-h, --help', 'show help for a command')
    .configureOutput({
      writeOut: context.stdout.write,
      writeErr: context.stderr.write,
      outputError: (message, write) => write(printable(message, argv)),
    })
    .configureHelp({ showGlobalOptions: true, helpWidth })
    .helpCommand(...helpCommand)
    .exitOverride()
    .addHelpText('after', rootHelp)

  /** A commander action: calls `body` with the options of the command line, and the arguments under their names. */
  const act = <Flags extends object>(body: (flags: Flags) => number | Promise<number>) =>
    async function action(this: Command): Promise<void> {
      const named = this.registeredArguments.map((argument, at) => [argument.name(), this.processedArgs[at]] as const)
      finish(await body({ ...this.optsWithGlobals<Flags>(), ...Object.fromEntries(named) }))
    }

  /** An action that loads its command. */
  const run = <Flags extends object>(load: () => Promise<Body<Flags>>) =>
    act<Flags>(async (flags) => (await load())(context, flags))

  program.commandsGroup('Logins:')
  add(program, 'login', 'log in to GitHub Copilot or ChatGPT (codex)', helpText.login)
    .addArgument(new Argument('[provider]', 'copilot or codex').default('copilot'))
    .option('--no-browser', 'print the address instead of opening a browser')
    .option('--device', 'codex: log in with a code, for machines without a browser')
    .option('--token-stdin', 'copilot: read a GitHub token from standard input')
    .option('--yes', 'do not ask if you are already logged in')
    .option('--host <host>', 'copilot: GitHub Enterprise host, e.g. octocorp.ghe.com')
    .addOption(
      new Option('--web', 'copilot: log in without a code; needs copilot-oauth.client-id').conflicts([
        'tokenStdin',
        'host',
      ]),
    )
    .action(run(async () => (await import('./login/login.ts')).login))
  add(program, 'logout', 'delete a stored login', helpText.logout)
    .argument('[provider]', 'copilot (default) or codex')
    .option('--all', 'delete all logins of a provider, or of both if you name none')
    .action(run(async () => (await import('./logout.ts')).logout))

  const account = add(program, 'account', 'list or choose the stored GitHub accounts', helpText.account)
  add(account, 'list', 'list the stored GitHub accounts', helpText.accountList)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadAccount()).listAccounts))
  add(account, 'use', 'use this account for requests', helpText.accountUse)
    .argument('<name>', 'name of the account, see: copilot-proxy account list')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadAccount()).accountUse))

  program.commandsGroup('Run copilot-proxy:')
  const serve = add(program, 'serve', 'run copilot-proxy in this terminal', helpText.serve)
  for (const option of serveOptions()) serve.addOption(option)
  serve.option('--json', 'print JSON; only with --detach').action(
    act(async (flags: ServeFlags) => {
      // commander knows options that exclude each other, and none that need each other.
      if (flags.json && !flags.detach) serve.error("error: option '--json' needs '--detach'")
      return (await import('./serve/serve.ts')).serve(context, flags)
    }),
  )
  const start = add(program, 'start', 'start copilot-proxy in the background', helpText.start)
  for (const option of startOptions()) start.addOption(option)
  start.option('--json', 'print JSON').action(run(async () => (await import('./background/start-daemon.ts')).detach))
  add(program, 'stop', 'stop the background copilot-proxy', helpText.stop)
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./background/stop.ts')).stop))
  add(program, 'restart', 'restart copilot-proxy with the same options', helpText.restart)
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./background/start-daemon.ts')).restart))
  add(program, 'logs', 'show the log of the background copilot-proxy', helpText.logs)
    .option('-f, --follow', 'keep printing new lines')
    .option('-n, --lines <number>', 'number of lines to show (default: 100, or all with --since)')
    .option('--since <time>', 'only lines since this time: 10m, 2h, 14:30, 2026-11-24T10:00')
    .addOption(new Option('--level <level>', 'only lines of this level or above').choices(logLevels.slice(0, -1)))
    .option('--json', 'print one JSON object per line')
    .action(run(async () => (await import('./background/logs.ts')).logs))

  program.commandsGroup('Clients:')
  add(program, 'launch', 'start a client with copilot-proxy, without changing its settings', helpText.launch)
    .addArgument(new Argument('<client>', 'the client').choices(Object.keys(clients)))
    .argument('[args...]', "the client's own arguments, after --")
    .option('--model <model>', 'main model (default: the best one for the client)')
    .option('--demo', 'use a simulated Copilot: no account, no network')
    .action(run(async () => (await import('./launch/launch.ts')).launch))
  add(program, 'setup', 'change the settings of a client to use copilot-proxy', helpText.setup)
    .addArgument(new Argument('<client>', 'the client').choices(Object.keys({ ...snippets, ...waitingClients })))
    .option('--model <model>', 'main model (default: the best one for the client)')
    .option('--dry-run', 'show the changes without making them')
    .option('--undo', 'undo the changes of setup')
    .option('--yes', 'do not ask for confirmation')
    .addOption(new Option('--mcp', 'add the tools of workspaces (MCP) instead of models').conflicts('model'))
    .addOption(new Option('--print', 'print the settings without writing them').conflicts(['dryRun', 'undo', 'yes']))
    .action(run(async () => (await import('./setup/setup.ts')).setup))

  const service = add(program, 'service', 'start copilot-proxy with your session (systemd, launchd)', helpText.service)
  service.helpGroup('Run copilot-proxy:')
  add(service, 'install', 'install and start the service', helpText.serviceInstall)
    .option('--dry-run', 'print the service file without writing it')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadService()).serviceInstall))
  add(service, 'uninstall', 'stop the service and delete its file', helpText.serviceUninstall)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadService()).serviceUninstall))
  add(service, 'status', 'show the state of the service', helpText.serviceStatus)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadService()).serviceStatus))

  program.commandsGroup('Reports:')
  add(program, 'status', 'show logins, tokens and the running copilot-proxy', helpText.status)
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./status.ts')).status))
  const models = add(program, 'models', 'list the models of your account, or show one', helpText.models)
  models
    .argument('[name]', 'show all details of this model')
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./models/models.ts')).models))
  add(models, 'enable', 'accept the terms of a disabled Copilot model', helpText.modelsEnable)
    .argument('<id>', 'id of the model, see: copilot-proxy models')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./models/enable.ts')).modelsEnable))
  const usage = add(program, 'usage', 'show your quota and the usage so far', helpText.usage)
    .option('--json', 'print JSON')
    .addOption(new Option('--line', 'print one line, for status lines').conflicts('json'))
    .addOption(
      new Option('--by <group>', 'group totals by').choices(['model', 'key', 'session', 'day']).default('model'),
    )
    .action(run(async () => (await import('./usage/usage.ts')).usage))
  add(usage, 'allow', 'lift your budget until midnight', helpText.usageAllow)
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./usage/allow.ts')).usageAllow))
  add(program, 'requests', 'list the last requests, or show one', helpText.requests)
    .argument('[id]', 'show all details of this request')
    .option('-f, --follow', 'keep printing new requests')
    .option('-n, --limit <number>', 'number of requests to list', '20')
    .option('--failed', 'only failed requests')
    .option('--key <name>', 'only requests with this key')
    .option('--model <model>', 'only requests for this model')
    .option('--json', 'print JSON; with --follow one object per line')
    .action(run(async () => (await import('./requests/requests.ts')).requests))
  add(program, 'doctor', 'find problems and how to fix them', helpText.doctor)
    .option('--json', 'print JSON')
    .option('--verbose', 'also show skipped checks')
    .option('--cache', 'explain prompt cache misses')
    .action(run(async () => (await import('./doctor/doctor.ts')).doctor))

  program.commandsGroup('Settings:')
  const key = add(program, 'key', 'create, list or remove keys for callers', helpText.key)
  add(key, 'add', 'create a key and print it', helpText.keyAdd)
    .argument('[name]', 'name of the key (default: key-1, key-2, …)')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadKey()).keyAdd))
  add(key, 'list', 'list the keys with their limits and last use', helpText.keyList)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadKey()).keyList))
  add(key, 'remove', 'remove a key', helpText.keyRemove)
    .argument('<name>', 'name of the key, see: copilot-proxy key list')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadKey()).keyRemove))

  const config = add(program, 'config', 'show, check or change the configuration', helpText.config)
  add(config, 'path', 'print the path of the configuration file', helpText.configPath)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfig()).configPath))
  add(config, 'check', 'check the configuration; exit with 2 if it is invalid', helpText.configCheck)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfig()).configCheck))
  add(config, 'show', 'print all settings, with secrets masked', helpText.configShow)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfig()).configShow))

  add(config, 'get', 'print one setting', helpText.configGet)
    .argument('<key>', 'the setting, e.g. server.port')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfigChange()).configGet))
  add(config, 'set', 'change one setting', helpText.configSet)
    .argument('<key>', 'the setting, e.g. server.port')
    .argument('<value>', 'its new value')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfigChange()).configSet))
  add(config, 'unset', 'remove one setting, so that its default holds', helpText.configUnset)
    .argument('<key>', 'the setting, e.g. server.port')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfigChange()).configUnset))
  add(config, 'edit', 'edit the configuration file and check it', helpText.configEdit).action(
    run(async () => (await loadConfigChange()).configEdit),
  )
  add(config, 'init', 'create a configuration file', helpText.configInit)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadConfigChange()).configInit))

  program.commandsGroup('Workspaces:')
  const policy = add(program, 'policy', 'check or create the tool policy of a folder', helpText.policy)
  const check = add(policy, 'check', 'show the rule for a write or a command', helpText.policyCheck)
  check
    .argument('[path]', 'a file to be written, relative to the workspace')
    .argument('[command...]', 'a command to be run, after --')
    .option('--workspace <folder>', 'the workspace (default: this folder)')
    .option('--json', 'print JSON')
    .action(
      act(async (flags: PolicyFlags) => {
        // commander drops the `--` that separates a command from a path.
        const dashes = argv.indexOf('--')
        const command = dashes === -1 ? undefined : argv.slice(dashes + 1)
        const paths = check.args.slice(0, check.args.length - (command?.length ?? 0))
        if (command?.length === 0) check.error("error: missing command after '--'")
        if (paths.length + (command === undefined ? 0 : 1) > 1) {
          check.error('error: give one path, or one command after --')
        }
        return (await loadPolicy()).policyCheck(context, { ...flags, path: paths[0], command })
      }),
    )
  add(policy, 'init', 'create a policy file', helpText.policyInit)
    .option('--workspace <folder>', 'the workspace (default: this folder)')
    .addOption(new Option('--yes', 'allow the proposed commands without asking').conflicts('print'))
    .addOption(new Option('--print', 'print the policy with these commands and write nothing').conflicts('json'))
    .option('--json', 'print JSON')
    .action(run(async () => (await import('./policy-init.ts')).policyInit))

  add(policy, 'trust', 'read and confirm the policy of a folder', helpText.policyTrust)
    .argument('[folder]', 'the workspace (default: this folder)')
    .option('--yes', 'confirm without asking')
    .option('--json', 'print JSON, and ask nothing')
    .action(run(async () => (await loadPolicyRules()).policyTrust))
  add(policy, 'forget', 'take back what you allowed the agent always', helpText.policyForget)
    .argument('[rule]', 'a rule as it is shown, in quotes (default: list the rules)')
    .option('--all', 'take back all rules')
    .option('--workspace <folder>', 'the workspace (default: this folder)')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadPolicyRules()).policyForget))

  add(program, 'agent', 'let a model work in a folder', helpText.agent)
    .argument('[goal...]', 'the task, in your own words (default: asks for one after another)')
    .option('--workspace <folder>', 'the folder (default: this one)')
    .option('--model <model>', 'model to use (default: agent.model, or the best one)')
    .option('--continue', 'continue the last conversation of the folder')
    .option('--plan', 'plan first, and change nothing until you accept the plan')
    .option('--yes', 'approve everything that the policy allows')
    .option('--max-steps <number>', 'end after this number of steps (default: agent.max-steps)')
    .option('--max-credits <number>', 'end after this many AI credits (default: agent.max-credits)')
    .option('--json', 'print events as JSON, one per line')
    .option('--demo', 'use a simulated Copilot: no account, no network')
    .action(run(async () => (await import('./agent/agent.ts')).agent))

  add(program, 'undo', 'undo what the agent and other tools have changed', helpText.undo)
    .argument('[id]', 'a change or a run (default: the last run, or a list)')
    .option('--workspace <folder>', 'the folder (default: this one)')
    .option('--yes', 'undo without asking')
    .option('--diff', 'show what all changes have done together, and undo nothing')
    .addOption(
      new Option('--to <message>', 'go back to before a message: its conversation ends there, files too').conflicts(
        'diff',
      ),
    )
    .option('--keep-files', 'with --to: leave the files as they are')
    .option('--json', 'print JSON, and ask nothing')
    .action(run(async () => (await import('./undo/undo.ts')).undo))

  add(program, 'mcp', 'offer the tools of a folder to an MCP client', helpText.mcp)
    .option('--workspace <folder>', 'the workspace (default: this folder)')
    .action(run(async () => (await import('./mcp.ts')).mcp))

  add(program, 'acp', 'offer the agent to an editor', helpText.acp)
    .option('--demo', 'use a simulated Copilot: no account, no network')
    .addOption(
      new Option('--login <provider>', 'log in on this terminal instead; editors start it').choices([
        'copilot',
        'codex',
      ]),
    )
    .action(run(async () => (await import('./acp/acp.ts')).acp))

  add(program, 'page', 'open the page of copilot-proxy in the browser', helpText.page)
    .option('--print', 'print the address instead of opening a browser')
    .action(run(async () => (await import('./page.ts')).page))

  const gateway = add(program, 'gateway', 'show the gateway for tool programs', helpText.gateway)
  add(gateway, 'status', 'show whether the gateway is open', helpText.gatewayStatus)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadGateway()).gatewayStatus))
  add(gateway, 'token', 'print the token for tool programs', helpText.gatewayToken)
    .option('--rotate', 'make a new token first, and disconnect all tool programs')
    .option('--json', 'print JSON')
    .action(run(async () => (await loadGateway()).gatewayToken))
  add(gateway, 'programs', 'list the connected tool programs', helpText.gatewayPrograms)
    .option('--json', 'print JSON')
    .action(run(async () => (await loadGateway()).gatewayPrograms))

  program.commandsGroup('Other commands:').helpCommand(...helpCommand)
  add(program, 'completion', 'print a completion script for your shell', helpText.completion)
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(
      act(async ({ shell }: { readonly shell: Shell }) => {
        const { completionScript } = await import('./completion.ts')
        context.stdout.write(completionScript(shell, program, serveOptions()))
        return exitCode.done
      }),
    )
  program
    .command('__complete', { hidden: true })
    .addArgument(new Argument('<kind>').choices(['models', 'keys', 'accounts'] satisfies ValueKind[]))
    .action(
      act(async ({ kind }: { readonly kind: ValueKind }) =>
        (await import('./complete-values.ts')).completeValues(context, kind),
      ),
    )
  program
    .command('version')
    .description('print the version')
    .action(() => context.stdout.write(`${context.version}\n`))

  nameHelp(program, program.name())
  // With a default action, commander treats every unknown word as an argument, and suggests no similar command.
  if (!findCommand(program, argv)) {
    for (const option of serveOptions()) program.addOption(option.hideHelp())
    program.action(run(async () => (await import('./serve/serve.ts')).loginAndServe))
  }
  return program
}

function startOptions(): readonly Option[] {
  return [
    new Option('-p, --port <number>', 'port to listen on; 0 picks a free one'),
    new Option('--host <address>', 'address to listen on'),
    new Option('--demo', 'use a simulated Copilot and Codex: no account, no network'),
    new Option('--log-level <level>', 'trace, debug, info, warn, error or silent'),
    new Option('--workspace <dir>', 'folder that tools may use; repeatable').argParser(
      (dir: string, before: readonly string[] | undefined) => [...(before ?? []), dir],
    ),
  ]
}

function serveOptions(): readonly Option[] {
  return [
    ...startOptions(),
    new Option('--log-format <format>', 'auto, pretty or json'),
    new Option('--detach', 'run in the background, like start').conflicts('logFormat'),
    new Option('--background <starter>').choices(['detach', 'service']).hideHelp(),
  ]
}

/** An error of usage ends with a reference to the help of the very command. */
function nameHelp(command: Command, name: string): void {
  const hint = command.name() === 'launch' ? "Put the client's own arguments after --. " : ''
  command.showHelpAfterError(`${hint}Run '${name} --help' for usage.`)
  for (const child of command.commands) nameHelp(child, `${name} ${child.name()}`)
}

/**
 * Whether the command line names a command. commander itself shows the whole help for a misspelt one after `help`, and
 * takes an option before the command for one of the program.
 * @throws CommanderError for an unknown command, an option of a command before it, and after printing the help of `help`
 */
function findCommand(program: Command, argv: readonly string[]): boolean {
  const own = [...program.options, new Option('-h, --help')]
  const known = [...own, ...serveOptions(), ...program.commands.flatMap(({ options }) => options)]
  let command = program
  let early: string | undefined
  let unknown: string | undefined
  let isHelp = false
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? ''
    if (word === '--') break
    if (word.startsWith('-')) {
      const [name = ''] = word.startsWith('--') ? word.split('=', 1) : [word.slice(0, 2)]
      const option = known.find((each) => isNamed(each, name))
      if (command === program && option !== undefined && !own.some((each) => isNamed(each, name))) early ??= name
      if (option?.required && word === name) at += 1
      if (option === undefined) unknown ??= name
    } else if (command.commands.length === 0) break
    // The word may be the value of a misspelt option.
    else if (unknown !== undefined && !command.commands.some((each) => each.name() === word)) break
    else if (word === 'help') isHelp = true
    else if (takesArguments(command) && !command.commands.some((each) => each.name() === word)) break
    else command = childOf(command, word)
  }
  if (isHelp) command.help()
  if (command !== program && early !== undefined) refuseEarly(program, command, early)
  const isHelpAsked = argv.some((word) => word === '--help' || word === '-h')
  if (command === program && unknown !== undefined && !isHelpAsked) {
    program.error(`error: unknown option '${unknown}'${meantOf(unknown, [...own, ...serveOptions()].map(longOf))}`)
  }
  return command !== program
}

/** A word after the command may be an argument of its own, as in `models NAME`, beside `models enable`. */
function takesArguments({ registeredArguments }: Command): boolean {
  return registeredArguments.length > 0
}

function isNamed({ long, short }: Option, name: string): boolean {
  return long === name || short === name
}

/** @throws CommanderError */
function childOf(parent: Command, word: string): Command {
  const child = parent.commands.find((each) => each.name() === word)
  if (child !== undefined) return child
  const names = parent.createHelp().visibleCommands(parent)
  const meant = meantOf(
    word,
    names.map((each) => each.name()),
  )
  return parent.error(`error: unknown command '${word}'${meant}`)
}

function longOf({ long = '' }: Option): string {
  return long
}

/** As commander words it; empty if no name is similar. */
function meantOf(word: string, names: readonly string[]): string {
  const meant = nearMatch(word, names)
  return meant === undefined ? '' : `\n(Did you mean ${meant}?)`
}

/** @throws CommanderError */
function refuseEarly(program: Command, command: Command, option: string): never {
  const path = command.parent === program ? command.name() : `${command.parent?.name()} ${command.name()}`
  const isTaken = command.options.some((each) => isNamed(each, option))
  const message = isTaken
    ? `put option '${option}' after the command: ${program.name()} ${path} ${option}`
    : `the command '${path}' has no option '${option}'`
  return command.error(`error: ${message}`)
}

/**
 * Rewords commander's sentence about a value that is not among the choices, like the other messages of this program.
 */
function inOwnWords(message: string): string {
  return message
    .replace(
      /command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\./s,
      "unknown $2 '$1'. Use one of: $3",
    )
    .replace(
      /option '(?:-\w, )?(--[\w-]+) <.*?>' argument '(.*)' is invalid\. Allowed choices are (.*)\./s,
      "$1 must be one of: $3; got '$2'",
    )
}

/** commander repeats arguments unchanged; they may be long, hold control characters, or break the line. */
function printable(message: string, argv: readonly string[]): string {
  const broken = argv.filter((argument) => argument.includes('\n'))
  return visibleLines(
    broken.reduce((text, argument) => text.replaceAll(argument, visible(argument)), inOwnWords(message)),
  )
}
