/** Columns that help is wrapped to: fits the usual terminal, and makes the text the same everywhere. */
export const width = 80

export const description =
  'Use your GitHub Copilot and OpenAI Codex models from any program that speaks OpenAI Chat Completions, OpenAI ' +
  'Responses or Anthropic Messages.'

export const root = `
New here?
  copilot-proxy login          connects your GitHub account, once
  copilot-proxy login codex    connects your ChatGPT account, for Codex models
  copilot-proxy serve          then point your programs at
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

Examples:
  copilot-proxy serve
  copilot-proxy serve --demo
  copilot-proxy serve --port 0 --log-level debug
  copilot-proxy serve --config ./copilot-proxy.yaml
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
  copilot-proxy models --json
`

export const usage = `
Examples:
  copilot-proxy usage
  copilot-proxy usage --json
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
