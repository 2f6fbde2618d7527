/** Help is wrapped to the width of the usual terminal, so that it is the same everywhere. */
export const width = 80

export const description =
  'Use your GitHub Copilot and OpenAI Codex models from any program that speaks OpenAI Chat Completions, OpenAI ' +
  'Responses or Anthropic Messages.'

export const root = `
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

export const login = `
For Copilot, login prints a code and the page to enter it on, and waits. This
works over SSH. For Codex, it opens ChatGPT in the browser of this machine; use
--device on a machine without a browser. You can be logged in to both. Only you
can read the stored logins.

Examples:
  copilot-proxy login
  copilot-proxy login --no-browser
  copilot-proxy login --host octocorp.ghe.com
  copilot-proxy login --token-stdin < token.txt
  copilot-proxy login codex
  copilot-proxy login codex --device
`

export const logout = `
Deletes logins that copilot-proxy stored. It never touches the login of Codex
CLI (codex.use-cli-login).

Examples:
  copilot-proxy logout
  copilot-proxy logout codex
  copilot-proxy logout --all
`

export const account = `
copilot-proxy uses one GitHub account at a time. Each login adds its account and
makes it the one in use. A key can have an account of its own (server.key-limits,
account). Requests are never spread over accounts.

Examples:
  copilot-proxy account list
  copilot-proxy account use octocat
`

export const accountList = `
The account in use is the one that was logged in or chosen last. KEYS are the
keys whose requests always use the account.

Examples:
  copilot-proxy account list
  copilot-proxy account list --json
`

export const accountUse = `
A running copilot-proxy notices within seconds. Requests that run finish as the
account that they began with. To add an account, run: copilot-proxy login

Examples:
  copilot-proxy account use octocat
  copilot-proxy account use octocat@octocorp.ghe.com
`

export const serve = `
Prints its address to standard output when it accepts connections, and logs to
standard error. Ctrl-C stops it after the running requests have finished. Most
changes to the configuration file take effect at once.

With --demo, send the prompt [demo:help] to list the markers of the demo.

Examples:
  copilot-proxy serve
  copilot-proxy serve --demo
  copilot-proxy serve --port 0 --log-level debug
  copilot-proxy serve --config ./copilot-proxy.yaml
  copilot-proxy serve --workspace . --workspace ../library
`

export const start = `
Returns when copilot-proxy accepts connections. Does nothing if it is already
running. "copilot-proxy logs" shows its log, "copilot-proxy stop" stops it.

Examples:
  copilot-proxy start
  copilot-proxy start --port 8080
  copilot-proxy start --demo
`

export const launch = `
Uses the running copilot-proxy, or starts it in the background. Picks models for
the client and prints them. Passes everything after -- to the client, and exits
with the exit code of the client.

Examples:
  copilot-proxy launch claude
  copilot-proxy launch codex --model gpt-5.3-codex
  copilot-proxy launch opencode -- run "what does this program do?"
  copilot-proxy launch copilot --model gpt-5.3-codex
  copilot-proxy launch claude --demo
`

export const setup = `
For Claude Code, Codex CLI and opencode, setup shows the changes to the client's
settings and asks before it writes them. It keeps a backup next to the file and
sends one test request. --undo restores the backup. If you have edited the file
since, --undo only removes the settings that setup added.

For other clients, setup prints the settings to enter, and asks before it sends
a test request.

--mcp adds the MCP server "copilot-proxy mcp" instead: the client can then use
the tools of workspaces, with models of any provider. It needs no login.

Examples:
  copilot-proxy setup claude
  copilot-proxy setup codex --dry-run
  copilot-proxy setup opencode --undo
  copilot-proxy setup claude --mcp
  copilot-proxy setup --print vscode
`

export const status = `
Reads local files and asks the running copilot-proxy, but not GitHub or OpenAI.
Exits with 3 if you are not logged in at all, and with 2 if the configuration is
invalid.

Examples:
  copilot-proxy status
  copilot-proxy status --json
`

export const models = `
Asks the running copilot-proxy, or the providers if it is not running.

Examples:
  copilot-proxy models
  copilot-proxy models gpt-5-mini
  copilot-proxy models --json
`

export const modelsEnable = `
GitHub asks some accounts to accept the terms of a model before they may use it.
This command shows the terms, asks you and accepts them for the GitHub account in
use. Models of an organization are enabled by its administrator.

Examples:
  copilot-proxy models enable claude-opus-4.5
`

export const usage = `
Shows the quota that GitHub reports (premium requests or AI credits) and the
limits of your ChatGPT plan that OpenAI last reported. Also shows your usage
through copilot-proxy: requests, tokens, cached input and AI credits for today,
the last 7 and 30 days and the billing month. These totals are stored on this
machine.

One AI credit costs US$0.01. Credits marked with ~ are estimates from the prices
of the model, because GitHub did not report them.

--line prints the remaining quota and today's usage. It asks the running
copilot-proxy only, never GitHub, and takes less than a second.

Examples:
  copilot-proxy usage
  copilot-proxy usage --by key
  copilot-proxy usage --by session
  copilot-proxy usage --json
  copilot-proxy usage --line
`

export const usageAllow = `
Lifts usage.credits-per-day and usage.credits-per-month until midnight. Use it
if copilot-proxy refuses requests because your budget is used up. The limits of
keys (server.key-limits) stay. Only the user who runs copilot-proxy can do this.

Examples:
  copilot-proxy usage allow
`

export const requests = `
copilot-proxy keeps its last 1000 requests until it stops, but no prompts or
answers. The list includes failed and refused requests. A request appears when
it has ended.

With an ID, or its first 8 characters, it shows all details of one request and a
curl command that repeats it. The command contains the original body only if the
setting log.bodies is on. Otherwise it sends a short message to the same model.

Examples:
  copilot-proxy requests
  copilot-proxy requests --failed --limit 5
  copilot-proxy requests --follow --key laptop
  copilot-proxy requests --follow --json
  copilot-proxy requests 6f1c2a9b
`

export const doctor = `
Checks settings, files, network, certificates, clock, logins, tokens, plans,
models, port and clients. Prints one thing to do for each problem. Prints no
tokens and sends no request to a model. Changes nothing, but renews a ChatGPT
login that is about to expire.

Exits with 1 if a check failed, with 2 if the configuration is invalid, with 3
if only a login is missing, and with 0 if there are only warnings.

--cache shows why Copilot did not read prompts from its cache: the hit rate of
each session, and the changes at the start of its prompts. It needs the setting
log.cache-diagnostics, which keeps hashes of prompts in memory.

Examples:
  copilot-proxy doctor
  copilot-proxy doctor --verbose
  copilot-proxy doctor --json
  copilot-proxy doctor --cache
`

export const key = `
Programs send these keys to copilot-proxy. The keys have nothing to do with your
GitHub or OpenAI account. If there are keys, every request must have one:
"Authorization: Bearer <key>" or "x-api-key: <key>".

Examples:
  copilot-proxy key add laptop
  copilot-proxy key list
  copilot-proxy key remove laptop
`

export const keyAdd = `
Prints the key once and stores its hash in the configuration file. The log shows
the name of the key, never the key. A running copilot-proxy accepts it at once.

Examples:
  copilot-proxy key add laptop
  KEY=$(copilot-proxy key add laptop)
  copilot-proxy key add laptop --json
`

export const keyList = `
Keys that are stored as plain text have no name; they are listed as plain-1,
plain-2 and so on.

Examples:
  copilot-proxy key list
  copilot-proxy key list --json
`

export const keyRemove = `
A running copilot-proxy refuses the key at once and closes its connections.

Examples:
  copilot-proxy key remove laptop
  copilot-proxy key remove plain-1
`

export const config = `
Examples:
  copilot-proxy config init
  copilot-proxy config set server.port 8080
  copilot-proxy config edit
  copilot-proxy config show
`

export const configPath = `
Examples:
  copilot-proxy config path
  copilot-proxy config path --json
`

export const configCheck = `
Prints each problem with its file, line and setting. If copilot-proxy is
running, also checks that the models in models.aliases exist.

Examples:
  copilot-proxy config check
  copilot-proxy config check --config ./copilot-proxy.yaml
`

export const configShow = `
Shows the source of each value: the file, an environment variable, or the
default.

Examples:
  copilot-proxy config show
  copilot-proxy config show --json
`

export const configInit = `
Writes a configuration file with the most used settings, all commented out. Does
not overwrite an existing file.

Examples:
  copilot-proxy config init
  copilot-proxy config init --config ./copilot-proxy.yaml
`

export const configEdit = `
Opens the configuration file in $VISUAL or $EDITOR, and checks it afterwards.

Examples:
  copilot-proxy config edit
  EDITOR=nano copilot-proxy config edit
`

export const configSet = `
Changes one setting in the configuration file and keeps its comments. Refuses
invalid values. Write lists and tables in YAML or JSON.

Examples:
  copilot-proxy config set server.port 8080
  copilot-proxy config set models.aliases.fast gpt-5-mini
  copilot-proxy config set models.hide '[gpt-3.5-turbo, gpt-4]'
`

export const configGet = `
Prints one setting, with secrets masked.

Examples:
  copilot-proxy config get server.port
  copilot-proxy config get models.aliases --json
`

export const stop = `
Lets running requests finish first, for up to server.shutdown-grace-seconds.
Does nothing if copilot-proxy is not running in the background. If it runs in a
terminal, press Ctrl-C there instead.

Examples:
  copilot-proxy stop
  copilot-proxy stop --json
`

export const restart = `
Use it after an update, or after changing a setting that needs a restart. Does
not stop copilot-proxy if the configuration is invalid. Starts copilot-proxy if
it is not running.

Examples:
  copilot-proxy restart
  copilot-proxy restart --json
`

export const logs = `
Prints readable lines to a terminal, and JSON to files and pipes. The log takes
up to three files of 10 MB.

--since takes a duration (30s, 10m, 2h, 1d) or a local time: 14:30, 2026-11-24
or 2026-11-24T10:00.

Examples:
  copilot-proxy logs
  copilot-proxy logs -f
  copilot-proxy logs --since 10m --level warn
  copilot-proxy logs -n 1000 --json
`

export const service = `
The service starts with your session and restarts after a failure. The commands
status, logs, stop and restart work with it too.

Examples:
  copilot-proxy service install --dry-run
  copilot-proxy service install
  copilot-proxy service status
  copilot-proxy service uninstall
`

export const serviceInstall = `
Writes a systemd user unit or a launchd agent and starts it. Stops the
background copilot-proxy first, if there is one. The file contains paths but no
tokens, and no settings from environment variables: log in, and use the
configuration file. Run it again after moving Node.js or copilot-proxy.

Examples:
  copilot-proxy service install
  copilot-proxy service install --dry-run
  copilot-proxy service install --config ~/copilot-proxy.yaml
`

export const serviceUninstall = `
Keeps the configuration, the logins and the log.

Examples:
  copilot-proxy service uninstall
`

export const serviceStatus = `
Examples:
  copilot-proxy service status
  copilot-proxy service status --json
`

export const policy = `
A policy is a file .agent-policy.yaml in the folder of a workspace. Without one,
tools may only read.

Examples:
  copilot-proxy policy init
  copilot-proxy policy check src/index.ts
  copilot-proxy policy check -- npm test
`

export const page = `
Opens the page of the running copilot-proxy as its owner: there you can approve
what the agent wants to do. The address contains a code that works once, within
10 minutes. Without a browser, e.g. over SSH, it prints the address. The page
exists while copilot-proxy has a workspace.

Examples:
  copilot-proxy page
  copilot-proxy page --print
`

export const gateway = `
Programs on this machine (tool programs) offer tools to your workspaces through
the gateway. It is open while copilot-proxy runs with a workspace and
gateway.enabled is true.

Examples:
  copilot-proxy config set gateway.enabled true
  copilot-proxy gateway status
  export TAP_PROVIDER_TOKEN=$(copilot-proxy gateway token)
`

export const gatewayStatus = `
Prints the address of the gateway and the file with its token. Exits with 1 and
says why if the gateway is closed.

Examples:
  copilot-proxy gateway status
  copilot-proxy gateway status --json
`

export const gatewayToken = `
The token is new each time copilot-proxy starts. Tool programs with an older
token are refused.

Examples:
  copilot-proxy gateway token
  copilot-proxy gateway token --rotate
`

export const gatewayPrograms = `
Examples:
  copilot-proxy gateway programs
  copilot-proxy gateway programs --json
`

export const policyCheck = `
Prints the rule that allows or denies a write or a command, and exits with 1 if
the policy denies it. Without arguments, prints the policy.

Examples:
  copilot-proxy policy check
  copilot-proxy policy check src/index.ts
  copilot-proxy policy check -- npm test
  copilot-proxy policy check --workspace ~/code/app .env
`

export const policyInit = `
Writes .agent-policy.yaml with examples, all commented out. Does not overwrite
an existing file.

Examples:
  copilot-proxy policy init
  copilot-proxy policy init --workspace ~/code/app
`

export const agent = `
The model reads files, changes them and runs commands, step by step. The file
.agent-policy.yaml in the folder limits changes and commands; without that file,
the model only reads. Before each change or command you are asked: y allows it
once, a for the rest of the run, n refuses it, d shows the whole diff. Ctrl-C
cancels the run and lists its changes.

Changes and commands need the setting workspace.read-only: false. With --yes,
the agent does everything that the policy allows without asking.

Uses the running copilot-proxy if it serves the folder (serve --workspace).
Otherwise it starts one and stops it after the run.

Exits with 0 if the model finished, with 1 if the run failed or reached a limit,
with 3 if you are not logged in, and with 130 if you cancelled it.

Examples:
  copilot-proxy agent "The test of totals fails. Fix it."
  copilot-proxy agent --model claude-sonnet-5 --max-steps 10 "Add a README"
  copilot-proxy agent --yes --json "Update the changelog" > events.jsonl
  copilot-proxy agent --demo "What is here? [demo:tool fs_list]"
`

export const mcp = `
An MCP server on standard input and output, with the tools of a folder: read,
search, patch, run commands. MCP clients start it themselves; setup --mcp adds
it to Claude Code, Codex CLI and opencode. It works without a running
copilot-proxy.

Without --workspace, it uses the configured workspace that holds this folder, or
the only one that is configured. If none is configured, it uses this folder.

Examples:
  copilot-proxy setup claude --mcp
  copilot-proxy mcp --workspace ~/code/app
`

export const completion = `
Completes commands and options, and the names of models, keys and settings.

Examples:
  source <(copilot-proxy completion bash)       in ~/.bashrc
  source <(copilot-proxy completion zsh)        in ~/.zshrc, after compinit
  copilot-proxy completion fish | source        in ~/.config/fish/config.fish
`
