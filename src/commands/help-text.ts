/** Help is wrapped to the width of the usual terminal, so that it is the same everywhere. */
export const width = 80

export const description =
  'Use your GitHub Copilot and OpenAI Codex models from any program that speaks OpenAI Chat Completions, OpenAI ' +
  'Responses or Anthropic Messages.'

export const root = `
New here?
  copilot-proxy login          connects your GitHub account, once
  copilot-proxy login codex    connects your ChatGPT account, for Codex models
  copilot-proxy launch claude  starts Claude Code with its models; or codex,
                               or opencode
  copilot-proxy serve          or: point your programs at
                               http://127.0.0.1:4141/v1

Without a command, copilot-proxy logs in to Copilot if there is no login at all,
then serves; it takes the options of serve. To try it without an account:
copilot-proxy --demo

Exit codes:
  0    done
  1    failed
  2    wrong usage or invalid configuration
  3    not logged in
  130  interrupted

Environment:
  COPILOT_PROXY_HOME              one folder for configuration and logins
  COPILOT_PROXY_<SECTION>_<KEY>   any key of the configuration file, for example
                                  COPILOT_PROXY_SERVER_PORT=4242
  COPILOT_GITHUB_TOKEN            a GitHub token to use instead of a login
  CODEX_HOME                      where Codex CLI keeps its login, should
                                  codex.use-cli-login be on
  HTTPS_PROXY, HTTP_PROXY,        the way to the internet
  NO_PROXY
  NO_COLOR                        no colours
`

export const login = `
copilot shows a code and the address to type it in, and waits until you have
done so; that works over SSH. codex sends you to ChatGPT in a browser on this
machine; where there is none, --device shows a code and an address instead. The
login is stored on this machine, readable by you alone. You can have both.

Examples:
  copilot-proxy login
  copilot-proxy login --no-browser
  copilot-proxy login --host octocorp.ghe.com
  copilot-proxy login --token-stdin < token.txt
  copilot-proxy login codex
  copilot-proxy login codex --device
`

export const logout = `
Removes logins that copilot-proxy stored itself. The login of Codex CLI, which
codex.use-cli-login reads, is never touched.

Examples:
  copilot-proxy logout
  copilot-proxy logout codex
  copilot-proxy logout --all
`

export const serve = `
Prints its address on standard output once it accepts connections; the log goes
to standard error. Ctrl-C stops it; answers on their way are finished first.
Changes of the configuration file take effect while it runs. With --demo, the
prompt [demo:help] answers with what can be simulated.

With --detach it runs in the background, and the command returns once it
answers. Where it does already, that is all there is to do. Its log is JSON in a
file, which "copilot-proxy logs" shows.

Examples:
  copilot-proxy serve
  copilot-proxy serve --detach
  copilot-proxy serve --demo
  copilot-proxy serve --port 0 --log-level debug
  copilot-proxy serve --config ./copilot-proxy.yaml
`

export const launch = `
Finds the running copilot-proxy or starts one in the background, picks models
of your list and says which. Whatever stands after -- goes to the client as it
is; its exit code is the one of this command.

Examples:
  copilot-proxy launch claude
  copilot-proxy launch codex --model gpt-5.3-codex
  copilot-proxy launch opencode -- run "what does this program do?"
  copilot-proxy launch claude --demo
`

export const setup = `
Writes the settings of Claude Code, Codex CLI and opencode: shows what changes,
asks, keeps a copy of the file beside it, and sends one request through the
proxy to see that it answers. --undo puts the file back as it was; if it has
changed since, only what setup wrote is taken out. For all other clients it
prints what to set, on standard output.

Examples:
  copilot-proxy setup claude
  copilot-proxy setup codex --dry-run
  copilot-proxy setup opencode --undo
  copilot-proxy setup --print cursor
`

export const status = `
Asks this machine only, neither GitHub nor OpenAI. Exits with 3 when there is no
login at all, neither for Copilot nor for Codex.

Examples:
  copilot-proxy status
  copilot-proxy status --json
`

export const models = `
Asks the running daemon, or the providers themselves when none is running.

Examples:
  copilot-proxy models
  copilot-proxy models gpt-5-mini
  copilot-proxy models --json
`

export const usage = `
Premium requests or AI credits as GitHub counts them, what is left of a ChatGPT
plan as OpenAI last told the running daemon, and what went through
copilot-proxy: requests, tokens, the share of the input that came from a cache,
and AI credits, of today, of 7 days, of the month that GitHub bills and of 30
days; by model, by key of the caller or by day. These totals are kept on this
machine and outlive the daemon.

A credit is US$0.01. GitHub states credits with each answer; where it states
none, they are reckoned from the prices of the model and marked with ~.

--line prints what is left and what was used today, within a second: it asks the
running daemon and never GitHub, and leaves out what the daemon does not know.

Examples:
  copilot-proxy usage
  copilot-proxy usage --by key
  copilot-proxy usage --json
  copilot-proxy usage --line
`

export const requests = `
The daemon remembers its last 1000 requests, without prompts and answers, until
it stops. Failed and refused requests are among them. A request is listed once
it has ended.

With an ID, or its first 8 characters, you see one request in full and a curl
command that repeats it. The command contains the original body only while the
setting log.bodies is on; otherwise it asks the same model to say hello.

Examples:
  copilot-proxy requests
  copilot-proxy requests --failed --limit 5
  copilot-proxy requests --follow --key laptop
  copilot-proxy requests --follow --json
  copilot-proxy requests 6f1c2a9b
`

export const doctor = `
For when something does not work, or before you ask for help: settings, files,
network, certificates, clock, logins, tokens, plans, models, port, and what is
set for the clients. Whatever is not in order ends in one thing to do. Shows no
token, asks no model, and changes nothing; only a ChatGPT login whose token is
due is renewed, as a request would renew it.

Exits with 1 when something failed, with 2 when the configuration is not valid,
with 3 when all that is missing is a login. Warnings alone exit with 0.

--cache asks the running copilot-proxy why prompts were not read from the cache
of Copilot: for each session its hit rate, and what changed at the beginning of
the prompt from one request to the next. Needs log.cache-diagnostics in the
configuration; only hashes of prompts are kept, and only in memory.

Examples:
  copilot-proxy doctor
  copilot-proxy doctor --verbose
  copilot-proxy doctor --json
  copilot-proxy doctor --cache
`

export const key = `
Keys are for callers of the proxy and have nothing to do with your accounts. As
soon as there is one, every request needs one, as "Authorization: Bearer <key>"
or "x-api-key: <key>".

Examples:
  copilot-proxy key add laptop
  copilot-proxy key list
  copilot-proxy key remove laptop
`

export const keyAdd = `
Prints the key once; the configuration file gets its hash, under this name. The
name shows in the log, the key does not. A running copilot-proxy takes it at
once.

Examples:
  copilot-proxy key add laptop
  KEY=$(copilot-proxy key add laptop)
  copilot-proxy key add laptop --json
`

export const keyList = `
A key that stands in the configuration as it is has no name of its own: plain-1
is the first of the list.

Examples:
  copilot-proxy key list
  copilot-proxy key list --json
`

export const keyRemove = `
A running copilot-proxy refuses the key at once, and ends what was let in with
it.

Examples:
  copilot-proxy key remove laptop
  copilot-proxy key remove plain-1
`

export const config = `
Examples:
  copilot-proxy config path
  copilot-proxy config check --config ./copilot-proxy.yaml
  copilot-proxy config show --json
`

export const configPath = `
Examples:
  copilot-proxy config path
  $EDITOR "$(copilot-proxy config path)"
`

export const configCheck = `
Each problem is one line: where it is written, which key, what was expected.

Examples:
  copilot-proxy config check
  copilot-proxy config check --config ./copilot-proxy.yaml
`

export const configShow = `
Each value is followed by where it comes from: flag, environment, file, default.

Examples:
  copilot-proxy config show
  copilot-proxy config show --json
`

export const stop = `
Answers on their way are finished first, for as long as the setting
server.shutdown-grace-seconds allows. Where none runs, there is nothing to do.
One that runs in a terminal is ended there, with Ctrl-C.

Examples:
  copilot-proxy stop
  copilot-proxy stop --json
`

export const restart = `
For a new version, and for settings that take effect at a start only. With
settings that are not valid, the old one goes on running. Where none runs, one
is started.

Examples:
  copilot-proxy restart
  copilot-proxy restart --json
`

export const logs = `
On a terminal the lines are for people, otherwise one JSON object each. The log
is kept in three files of 10 MB at most.

Examples:
  copilot-proxy logs
  copilot-proxy logs -f
  copilot-proxy logs -n 1000 --json
`

export const service = `
A service starts with your session, and again should it fail. The commands
status, logs, stop and restart work with it as with serve --detach.

Examples:
  copilot-proxy service install --dry-run
  copilot-proxy service install
  copilot-proxy service status
  copilot-proxy service uninstall
`

export const serviceInstall = `
Writes a systemd unit or a launchd agent of your own and starts it; a daemon of
serve --detach makes way for it. The file holds paths and no secret: a token or
setting in a variable of this terminal is not passed on, so log in, and use the
configuration file. To be run again after Node.js or copilot-proxy has moved.

Examples:
  copilot-proxy service install
  copilot-proxy service install --dry-run
  copilot-proxy service install --config ~/copilot-proxy.yaml
`

export const serviceUninstall = `
Configuration, logins and log stay.

Examples:
  copilot-proxy service uninstall
`

export const serviceStatus = `
Examples:
  copilot-proxy service status
  copilot-proxy service status --json
`

export const completion = `
Examples:
  source <(copilot-proxy completion bash)       in ~/.bashrc
  source <(copilot-proxy completion zsh)        in ~/.zshrc, after compinit
  copilot-proxy completion fish | source        in ~/.config/fish/config.fish
`
