import type { Help } from 'commander'

/** The text that the help of a command adds to the lists of its options and arguments. */
export interface HelpText {
  /** Paragraphs, separated by empty lines. `renderHelp` wraps them. */
  readonly about?: string
  /** Command lines, without the name of the program if they begin with it. */
  readonly examples: readonly string[]
}

/** Help is wrapped to the width of the usual terminal, so that it is the same everywhere. */
export const helpWidth = 80

export function renderHelp({ about, examples }: HelpText, help: Help): string {
  const paragraphs = about?.split(/\n\s*\n/).map((text) => help.boxWrap(text.trim().replaceAll(/\s+/g, ' '), helpWidth))
  const lines = examples.map((line) => `  ${line.includes('copilot-proxy ') ? line : `copilot-proxy ${line}`}\n`)
  return `\n${paragraphs?.map((text) => `${text}\n\n`).join('') ?? ''}Examples:\n${lines.join('')}`
}

export const description =
  'Use your GitHub Copilot and OpenAI Codex models from any program that speaks OpenAI Chat Completions, OpenAI ' +
  'Responses or Anthropic Messages.'

export const rootHelp = `
Get started:
  copilot-proxy login          log in to GitHub, once
  copilot-proxy launch claude  start Claude Code with Copilot models; also codex
                               and opencode
  copilot-proxy start          start copilot-proxy in the background, to use
                               http://127.0.0.1:4141/v1 in your programs

Without a command, copilot-proxy logs in if needed and then runs in this
terminal, like serve. Try it without an account: copilot-proxy --demo

Exit codes:
  0    success
  1    failure
  2    wrong usage or invalid configuration
  3    not logged in
  130  interrupted

Environment variables:
  COPILOT_PROXY_HOME              folder for configuration and logins
  COPILOT_PROXY_<SECTION>_<KEY>   any setting of the configuration file, e.g.
                                  COPILOT_PROXY_SERVER_PORT=4242
  COPILOT_PROXY_API_KEY           key that commands send to copilot-proxy
  COPILOT_GITHUB_TOKEN            GitHub token to use instead of a login
  CODEX_HOME                      folder of Codex CLI, for codex.use-cli-login
  COPILOT_HOME                    folder where tool programs find the token
  HTTPS_PROXY, HTTP_PROXY,        proxy for connections to the internet
  ALL_PROXY, NO_PROXY
  NO_COLOR                        print without colors
`

export const helpText = {
  login: {
    about: `
    For Copilot, login prints a code and the page to enter it on, and waits. This works over SSH. For Codex, it opens
    ChatGPT in the browser of this machine; use --device on a machine without a browser. You can be logged in to both.
    Only you can read the stored logins.`,
    examples: [
      'login',
      'login --no-browser',
      'login --host octocorp.ghe.com',
      'login --token-stdin < token.txt',
      'login codex',
      'login codex --device',
    ],
  },
  logout: {
    about: 'Deletes logins that copilot-proxy stored. It never touches the login of Codex CLI (codex.use-cli-login).',
    examples: ['logout', 'logout codex', 'logout --all'],
  },
  account: {
    about: `
    copilot-proxy uses one GitHub account at a time. Each login adds its account and makes it the one in use. A key can
    have an account of its own (server.key-limits, account). Requests are never spread over accounts.`,
    examples: ['account list', 'account use octocat'],
  },
  accountList: {
    about: `
    The account in use is the one that was logged in or chosen last. KEYS are the keys whose requests always use the
    account.`,
    examples: ['account list', 'account list --json'],
  },
  accountUse: {
    about: `
    A running copilot-proxy notices within seconds. Requests that run finish as the account that they began with. To add
    an account, run: copilot-proxy login`,
    examples: ['account use octocat', 'account use octocat@octocorp.ghe.com'],
  },
  serve: {
    about: `
    Prints its address to standard output when it accepts connections, and logs to standard error. Ctrl-C stops it after
    the running requests have finished. Most changes to the configuration file take effect at once.

    With --demo, send the prompt [demo:help] to list the markers of the demo.`,
    examples: [
      'serve',
      'serve --demo',
      'serve --port 0 --log-level debug',
      'serve --config ./copilot-proxy.yaml',
      'serve --workspace . --workspace ../library',
    ],
  },
  start: {
    about: `
    Returns when copilot-proxy accepts connections. Does nothing if it is already running. "copilot-proxy logs" shows
    its log, "copilot-proxy stop" stops it.`,
    examples: ['start', 'start --port 8080', 'start --demo'],
  },
  launch: {
    about: `
    Uses the running copilot-proxy, or starts it in the background. Picks models for the client and prints them. Passes
    everything after -- to the client, and exits with the exit code of the client.`,
    examples: [
      'launch claude',
      'launch codex --model gpt-5.3-codex',
      'launch opencode -- run "what does this program do?"',
      'launch copilot --model gpt-5.3-codex',
      'launch claude --demo',
    ],
  },
  setup: {
    about: `
    For Claude Code, Codex CLI and opencode, setup shows the changes to the client's settings and asks before it writes
    them. It keeps a backup next to the file and sends one test request. --undo restores the backup. If you have edited
    the file since, --undo only removes the settings that setup added.

    For other clients, setup prints the settings to enter, and asks before it sends a test request.

    If copilot-proxy is not running, setup asks the providers for your models and renews the logins that are due, also
    with --dry-run and --print.

    --mcp adds the MCP server "copilot-proxy mcp" instead: the client can then use the tools of workspaces, with models
    of any provider. It needs no login.`,
    examples: [
      'setup claude',
      'setup codex --dry-run',
      'setup opencode --undo',
      'setup claude --mcp',
      'setup --print vscode',
    ],
  },
  status: {
    about: `
    Reads local files and asks the running copilot-proxy, but not GitHub or OpenAI. Exits with 3 if you are not logged
    in at all, and with 2 if the configuration is invalid.`,
    examples: ['status', 'status --json'],
  },
  models: {
    about: `
    Asks the running copilot-proxy. If it is not running, asks the providers and renews the logins that are due.`,
    examples: ['models', 'models gpt-5-mini', 'models --json'],
  },
  modelsEnable: {
    about: `
    GitHub asks some accounts to accept the terms of a model before they may use it. This command shows the terms, asks
    you and accepts them for the GitHub account in use. Models of an organization are enabled by its administrator.`,
    examples: ['models enable claude-opus-4.5'],
  },
  usage: {
    about: `
    Shows the quota that GitHub reports (premium requests or AI credits) and the limits of your ChatGPT plan that OpenAI
    last reported. Also shows your usage through copilot-proxy: requests, tokens, cached input and AI credits for today,
    the last 7 and 30 days and the billing month. These totals are stored on this machine.

    One AI credit costs US$0.01. Credits marked with ~ are estimates from the prices of the model, because GitHub did
    not report them.

    --line prints the remaining quota and today's usage. It asks the running copilot-proxy only, never GitHub, and takes
    less than a second.`,
    examples: ['usage', 'usage --by key', 'usage --by session', 'usage --json', 'usage --line'],
  },
  usageAllow: {
    about: `
    Lifts usage.credits-per-day and usage.credits-per-month until midnight. Use it if copilot-proxy refuses requests
    because your budget is used up. The limits of keys (server.key-limits) stay. Only the user who runs copilot-proxy
    can do this.`,
    examples: ['usage allow'],
  },
  requests: {
    about: `
    copilot-proxy keeps its last 1000 requests until it stops, but no prompts or answers. The list includes failed and
    refused requests. A request appears when it has ended.

    With an ID, or its first 8 characters, it shows all details of one request and a curl command that repeats it. The
    command contains the original body only if the setting log.bodies is on. Otherwise it sends a short message to the
    same model.`,
    examples: [
      'requests',
      'requests --failed --limit 5',
      'requests --follow --key laptop',
      'requests --follow --json',
      'requests 6f1c2a9b',
    ],
  },
  doctor: {
    about: `
    Checks settings, files, network, certificates, clock, logins, tokens, plans, models, port, clients, and whether the
    policies of the current folder are confirmed. Prints one thing to do for each problem. Prints no tokens and sends no
    request to a model. Changes nothing, but renews a ChatGPT login that is about to expire.

    Exits with 1 if a check failed, with 2 if the configuration is invalid, with 3 if only a login is missing, and with
    0 if there are only warnings.

    --cache shows why Copilot did not read prompts from its cache: the hit rate of each session, and the changes at the
    start of its prompts. It needs the setting log.cache-diagnostics, which keeps hashes of prompts in memory.`,
    examples: ['doctor', 'doctor --verbose', 'doctor --json', 'doctor --cache'],
  },
  key: {
    about: `
    Programs send these keys to copilot-proxy. The keys have nothing to do with your GitHub or OpenAI account. If there
    are keys, every request must have one: "Authorization: Bearer <key>" or "x-api-key: <key>".`,
    examples: ['key add laptop', 'key list', 'key remove laptop'],
  },
  keyAdd: {
    about: `
    Prints the key once and stores its hash in the configuration file. The log shows the name of the key, never the key.
    A running copilot-proxy accepts it at once.`,
    examples: ['key add laptop', 'KEY=$(copilot-proxy key add laptop)', 'key add laptop --json'],
  },
  keyList: {
    about: 'Keys that are stored as plain text have no name; they are listed as plain-1, plain-2 and so on.',
    examples: ['key list', 'key list --json'],
  },
  keyRemove: {
    about: 'A running copilot-proxy refuses the key at once and closes its connections.',
    examples: ['key remove laptop', 'key remove plain-1'],
  },
  config: {
    examples: ['config init', 'config set server.port 8080', 'config edit', 'config show'],
  },
  configPath: {
    examples: ['config path', 'config path --json'],
  },
  configCheck: {
    about: `
    Prints each problem with its file, line and setting. If copilot-proxy is running, also checks that the models in
    models.aliases exist.`,
    examples: ['config check', 'config check --config ./copilot-proxy.yaml'],
  },
  configShow: {
    about: 'Shows the source of each value: the file, an environment variable, or the default.',
    examples: ['config show', 'config show --json'],
  },
  configInit: {
    about: `
    Writes a configuration file with the most used settings, all commented out. Does not overwrite an existing file.`,
    examples: ['config init', 'config init --config ./copilot-proxy.yaml'],
  },
  configEdit: {
    about: 'Opens the configuration file in $VISUAL or $EDITOR, and checks it afterwards.',
    examples: ['config edit', 'EDITOR=nano copilot-proxy config edit'],
  },
  configSet: {
    about: `
    Changes one setting in the configuration file and keeps its comments. Refuses invalid values. Write lists and tables
    in YAML or JSON.`,
    examples: [
      'config set server.port 8080',
      'config set models.aliases.fast gpt-5-mini',
      "config set models.hide '[gpt-3.5-turbo, gpt-4]'",
    ],
  },
  configUnset: {
    about: `
    Removes one setting from the configuration file and keeps its comments. Also removes a setting of an earlier version
    that no longer exists.`,
    examples: ['config unset server.port', 'config unset models.aliases.fast'],
  },
  configGet: {
    about: 'Prints one setting, with secrets masked.',
    examples: ['config get server.port', 'config get models.aliases --json'],
  },
  stop: {
    about: `
    Lets running requests finish first, for up to server.shutdown-grace-seconds. Does nothing if copilot-proxy is not
    running in the background. If it runs in a terminal, press Ctrl-C there instead.`,
    examples: ['stop', 'stop --json'],
  },
  restart: {
    about: `
    Use it after an update, or after changing a setting that needs a restart. Does not stop copilot-proxy if the
    configuration is invalid. Starts copilot-proxy if it is not running.`,
    examples: ['restart', 'restart --json'],
  },
  logs: {
    about: `
    Prints readable lines to a terminal, and JSON to files and pipes. The log takes up to three files of 10 MB.

    --since takes a duration (30s, 10m, 2h, 1d) or a local time: 14:30, 2026-11-24 or 2026-11-24T10:00.`,
    examples: ['logs', 'logs -f', 'logs --since 10m --level warn', 'logs -n 1000 --json'],
  },
  service: {
    about: `
    The service starts with your session and restarts after a failure. The commands status, logs, stop and restart work
    with it too.`,
    examples: ['service install --dry-run', 'service install', 'service status', 'service uninstall'],
  },
  serviceInstall: {
    about: `
    Writes a systemd user unit or a launchd agent and starts it. Stops the background copilot-proxy first, if there is
    one. The file contains paths but no tokens, and no settings from environment variables: log in, and use the
    configuration file. Run it again after moving Node.js or copilot-proxy.`,
    examples: ['service install', 'service install --dry-run', 'service install --config ~/copilot-proxy.yaml'],
  },
  serviceUninstall: {
    about: 'Keeps the configuration, the logins and the log.',
    examples: ['service uninstall'],
  },
  serviceStatus: {
    examples: ['service status', 'service status --json'],
  },
  policy: {
    about:
      'A policy is a file .agent-policy.yaml in the folder of a workspace. Without one, the agent asks before each change and ' +
      'each command, and other tools only read.',
    examples: ['policy init', 'policy trust', 'policy check src/index.ts', 'policy check -- npm test'],
  },
  page: {
    about: `
    Opens the page of the running copilot-proxy as its owner: usage, requests, models, logins, keys and clients, and the
    sessions of your workspaces, where you can approve what the agent wants to do. The address contains a code that works
    once, within 10 minutes. Without a browser, e.g. over SSH, it prints the address.`,
    examples: ['page', 'page --print'],
  },
  gateway: {
    about: `
    Programs on this machine (tool programs) offer tools to your workspaces through the gateway. It is open while
    copilot-proxy runs with a workspace and gateway.enabled is true.`,
    examples: [
      'config set gateway.enabled true',
      'gateway status',
      'export TAP_PROVIDER_TOKEN=$(copilot-proxy gateway token)',
    ],
  },
  gatewayStatus: {
    about: `
    Prints the address of the gateway and the file with its token. Exits with 1 and says why if the gateway is closed.`,
    examples: ['gateway status', 'gateway status --json'],
  },
  gatewayToken: {
    about: 'The token is new each time copilot-proxy starts. Tool programs with an older token are refused.',
    examples: ['gateway token', 'gateway token --rotate'],
  },
  gatewayPrograms: {
    examples: ['gateway programs', 'gateway programs --json'],
  },
  policyCheck: {
    about: `
    Prints the rule that allows or denies a write or a command, and exits with 0 if it is allowed without a person. Without
    arguments, prints the policy.`,
    examples: [
      'policy check',
      'policy check src/index.ts',
      'policy check -- npm test',
      'policy check --workspace ~/code/app .env',
    ],
  },
  policyInit: {
    about: `
    Writes .agent-policy.yaml with commented examples. Does not overwrite an existing file.

    Proposes to allow the commands that test, check and build the project, from package.json, Makefile, pyproject.toml,
    Cargo.toml and go.mod. It shows where each comes from and what it runs, and asks. If you say no, or without a
    terminal, they are comments in the file, and it allows nothing. Scripts that delete, publish, deploy or fetch are
    left out.`,
    examples: ['policy init', 'policy init --print', 'policy init --workspace ~/code/app --yes'],
  },
  policyTrust: {
    about: `
    A .agent-policy.yaml that came with a folder, or that has changed, allows nothing until you have confirmed it; what it
    denies holds. Shows its text, also of those in subfolders, and asks. The agent asks the same when it needs it. Stores
    a hash of the text in the data folder of copilot-proxy. "policy init" confirms the policy that it writes.

    Exits with 0 if every policy is confirmed.`,
    examples: ['policy trust', 'policy trust ~/code/app --yes'],
  },
  policyForget: {
    about: `
    When the agent asks, you can answer "always". That stores the rule that the question shows: the paths of a change, a
    command in its folder, or a tool of a program. It holds for the agent in this workspace, until you take it back, also
    in a run that goes on. It opens nothing for other callers. What the policy denies stays denied. The rules lie in the
    data folder of copilot-proxy, and not in the repository.`,
    examples: ['policy forget', "policy forget 'run npm test'", 'policy forget --all'],
  },
  undo: {
    about: `
    Shows what comes back and asks before it changes a file. Without an ID, it takes the last run of the agent, or lists
    the last changes if this is no terminal. With the ID of a run, it undoes all changes of the run or none. If a file
    has changed since, it names the lines that differ and changes nothing. An undo can be undone too.

    With --to MESSAGE, the conversation ends before that message, and what its runs have changed since is undone: all of
    it, or nothing if a file has changed since. The id of a message is that of its run.

    It undoes patches, formatting and organised imports, not what commands have changed. It writes no file that the
    policy denies, and nothing in a locked workspace.

    With --json and without --yes, it prints what would come back and changes nothing.

    Exits with 0 if it has undone or listed something, and with 1 if it could not, or you said no.`,
    examples: ['undo', 'undo 00000003', 'undo --to 4be1c9a2', 'undo --workspace ../library --yes', 'undo --diff'],
  },
  agent: {
    about: `
    The model reads files, changes them and runs commands, step by step. Before each change or command you are asked: y
    allows it once, r for the rest of the run, a always (copilot-proxy policy forget takes that back), n refuses it, d
    shows the whole diff. Ctrl-C cancels the run and lists its changes. What the file .agent-policy.yaml in the folder denies does not happen.

    With --yes, the agent does without asking what the policy allows if the setting workspace.read-only is false, and
    nothing else.

    With --plan, the model only reads, and asks you to accept its plan. y accepts it, and the run goes on as above. n
    refuses it, and asks what to change.

    Without a goal, it asks for one task after another in the terminal, and the model knows the earlier ones. With a
    goal, it does that one. Both begin a new conversation; with --continue, the model knows the last one of the folder.
    @src/app.ts in a task attaches a file.

    Uses the running copilot-proxy if it serves the folder (serve --workspace). Otherwise it starts one and stops it at
    the end.

    Exits with 0 if the model finished, with 1 if the run failed or reached a limit, with 3 if you are not logged in,
    and with 130 if you cancelled it.`,
    examples: [
      'agent',
      'agent "The test of totals fails. Fix it."',
      'agent --model claude-sonnet-5 --max-steps 10 "Add a README"',
      'agent --plan "Replace moment by Temporal"',
      'agent --yes --json "Update the changelog" > events.jsonl',
      'agent --demo \'What is here? [demo:tool fs_list {"glob": "*"}]\'',
    ],
  },
  mcp: {
    about: `
    An MCP server on standard input and output, with the tools of a folder: read, search, patch, run commands. MCP
    clients start it themselves; setup --mcp adds it to Claude Code, Codex CLI and opencode. It works without a running
    copilot-proxy.

    Without --workspace, it uses the configured workspace that holds this folder, or the only one that is configured. If
    none is configured, it uses this folder.`,
    examples: ['setup claude --mcp', 'mcp --workspace ~/code/app'],
  },
  acp: {
    about: `
    An agent for editors that speak the Agent Client Protocol, on standard input and output: Zed, JetBrains IDEs, Neovim
    and others start it themselves. Your editor shows what the agent does, asks you before each change and command, and
    can cancel it.

    The folder that the editor has open is the workspace, under the same rules as for the command agent. Uses the running
    copilot-proxy if it serves the folder (serve --workspace). Otherwise it starts one for as long as the editor needs it.`,
    examples: ['acp', 'acp --demo'],
  },
  completion: {
    about: 'Completes commands and options, and the names of models, keys and settings.',
    examples: [
      'source <(copilot-proxy completion bash)       in ~/.bashrc',
      'source <(copilot-proxy completion zsh)        in ~/.zshrc, after compinit',
      'completion fish | source        in ~/.config/fish/config.fish',
    ],
  },
} satisfies Readonly<Record<string, HelpText>>
