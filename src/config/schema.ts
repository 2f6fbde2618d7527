import { z } from 'zod'
import type { CamelKeys } from './settings-tree.ts'
import { namedApiKeys } from './api-keys.ts'
import { editorHeaders, headerTable } from './header-table.ts'
import { isLoopbackHost } from './loopback.ts'
import { mcpServerTable } from './mcp-servers.ts'
import {
  aliasTable,
  apiKeyList,
  baseUrl,
  bindHost,
  creditLimit,
  endpointUrl,
  filledText,
  folderList,
  outerFolderList,
  graceSeconds,
  hostList,
  keyLimitTable,
  onOff,
  oneOf,
  optionalBaseUrl,
  originList,
  port,
  readOnlyMode,
  positiveNumber,
  positiveSeconds,
  text,
  modelList,
  versionText,
  wholeNumber,
  workspaceList,
  type ReadOnlyMode,
} from './setting-types.ts'
import { githubHostsOf, takesChatgptLogin, takesGithubLogin, takesOpenaiKey, tokenBaseUrl } from './upstream-hosts.ts'

/** Applied by `sanitizeCopilotOAuth`. The client id is that of GitHub's own VS Code extension. */
export const copilotOAuthDefaults = {
  'auth-url': 'https://github.com/login/oauth/authorize',
  'token-url': 'https://github.com/login/oauth/access_token',
  'client-id': '',
  'redirect-port': 54_556,
  scope: 'openid email profile offline_access',
  'github-base-url': 'https://github.com',
  'github-api-base-url': 'https://api.github.com',
  'github-client-id': 'Iv1.b507a08c87ecfe98',
  'github-scope': 'read:user',
} as const

/** Applied by `sanitizeCopilotOAuth`. */
export const defaultRefreshSafetyMarginSeconds = 60

const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.strictObject(shape, 'KEY: VALUE pairs')

const server = section({
  host: bindHost
    .default('127.0.0.1')
    .describe('Host name or IP address to listen on. Any address other than loopback requires api-keys.'),
  port: port.default(4141).describe('TCP port. 0: copilot-proxy picks a free port.'),
  'api-keys': apiKeyList.default([]).meta({
    description: 'API keys that callers must use, in plain text or as NAME:sha256:<hash>. Empty: no key is required.',
    secret: true,
  }),
  'check-peer': onOff
    .default(true)
    .describe(
      'Without api-keys: refuse programs of other users of this machine. Linux only; other systems do not show who calls.',
    ),
  'allowed-hosts': hostList
    .default([])
    .describe('Host names that callers may use besides localhost. With keys, IP addresses are always allowed.'),
  'allowed-origins': originList
    .default([])
    .describe('Web origins whose pages may call copilot-proxy, for example https://app.example.'),
  'body-limit-mb': positiveNumber(512).default(64).describe('Maximum size of a request body after decompression. MB.'),
  'max-concurrent-requests': wholeNumber(1, 100_000)
    .default(64)
    .describe('Maximum number of concurrent requests. Further requests wait in a queue.'),
  'max-queued-requests': wholeNumber(0, 100_000)
    .default(256)
    .describe('Maximum number of queued requests. Further requests get a 429 with Retry-After.'),
  'max-requests-per-minute': wholeNumber(0, 1_000_000)
    .default(0)
    .describe(
      'Maximum requests a minute per key, or per address without a key. Further requests get a 429. 0: no limit.',
    ),
  'rate-limit': oneOf(['refuse', 'wait'])
    .default('refuse')
    .describe('Requests above the limit per minute. refuse: answer with 429. wait: put them in the queue.'),
  'key-limits': keyLimitTable
    .default({})
    .describe(
      'Limits per key name: requests-per-minute, credits-per-day, models (names or patterns with *), account (a GitHub login).',
    ),
  'shutdown-grace-seconds': graceSeconds
    .default(30)
    .describe('Time that running requests get to finish after a stop signal. Seconds.'),
}).superRefine((settings, context) => {
  const names = namedApiKeys(settings['api-keys']).map(({ name }) => name)
  const known = new Set(names.map((name) => name.toLowerCase()))
  const seen = new Set<string>()
  for (const name of Object.keys(settings['key-limits'])) {
    const lower = name.toLowerCase()
    if (known.has(lower) && !seen.has(lower)) {
      seen.add(lower)
      continue
    }
    const keys = names.length === 0 ? '`server.api-keys` is empty' : `the keys are ${names.join(', ')}`
    const message = seen.has(lower) ? 'this key already has limits' : `no key has this name; ${keys}`
    context.addIssue({ code: 'custom', path: ['key-limits', name], message, params: { part: 'key' } })
  }
  if (isLoopbackHost(settings.host) || settings['api-keys'].length > 0) return
  context.addIssue({
    code: 'custom',
    path: ['host'],
    message:
      'other machines could use copilot-proxy without a key. Run: copilot-proxy key add NAME ' +
      '(or keep `server.host` at 127.0.0.1)',
  })
})

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export const logFormats = ['auto', 'pretty', 'json'] as const

const log = section({
  level: oneOf(logLevels).default('info').describe('Minimum level of the lines to log.'),
  format: oneOf(logFormats)
    .default('auto')
    .describe('pretty: lines for people. json: one JSON object per line. auto: pretty on a terminal, json otherwise.'),
  bodies: onOff.default(false).describe('Log prompts and answers. For debugging only.'),
  'cache-diagnostics': onOff
    .default(false)
    .describe('Keep hashes of the parts of each prompt, so that `doctor --cache` can explain cache misses.'),
})

/** The credentials of one provider never go to the other, whatever is configured. */
const chatgptUrl = baseUrl.refine(
  takesChatgptLogin,
  'expected a host of openai.com or chatgpt.com, or this machine; ChatGPT logins must not be sent to other hosts',
)
const keyUrl = baseUrl.refine(
  takesOpenaiKey,
  'this host belongs to another login, so OpenAI keys must not be sent to it',
)
const githubUrl = endpointUrl.refine(
  takesGithubLogin,
  'this host belongs to OpenAI, so GitHub logins must not be sent to it',
)

// No defaults: `sanitizeCopilotOAuth` has filled in every key before.
const copilotOauth = section({
  'auth-url': githubUrl.describe('Browser login: authorization URL.'),
  'token-url': githubUrl.describe('Browser login: token URL.'),
  'client-id': text.describe('Browser login: client id. Empty: device login only.'),
  'redirect-port': port.describe('Browser login: local port for the redirect.'),
  scope: filledText.describe('Browser login: requested scopes.'),
  'github-base-url': githubUrl.describe('GitHub base URL for the device login.'),
  'github-api-base-url': githubUrl.describe('Base URL of the GitHub API, which issues Copilot tokens.'),
  'github-client-id': filledText.describe('Device login: client id.'),
  'github-scope': filledText.describe('Device login: requested scopes.'),
})

/** Of requests to both providers: a stall looks the same on each, and nobody waits longer for one of them. */
const timeouts = section({
  'connect-seconds': positiveSeconds.default(10).describe('Timeout for opening a connection. Seconds.'),
  'headers-seconds': positiveSeconds
    .default(600)
    .describe('Timeout from the request to the first byte of the reply. Seconds.'),
  'idle-seconds': positiveSeconds
    .default(600)
    .describe(
      'Timeout between two events of a stream; four times as long while comments or pings arrive. The stream as a whole has no timeout. Seconds.',
    ),
})

const copilot = section({
  'base-url': optionalBaseUrl
    .default('')
    .describe('Copilot endpoint. Must be a host of GitHub or this machine. Empty: the endpoint of the login.'),
  auth: oneOf(['exchange', 'direct'])
    .default('exchange')
    .describe(
      'exchange: get short-lived Copilot tokens for the GitHub login. direct: send the GitHub login to Copilot. ' +
        'Tokens that GitHub cannot exchange are always sent directly.',
    ),
  'refresh-safety-margin-seconds': positiveSeconds.describe(
    'Renew the Copilot token this many seconds early. Blank, 0 or less: 60.',
  ),
  'refresh-on-unauthorized': onOff.default(true).describe('After a 401, renew the token and repeat the request once.'),
  initiator: oneOf(['history', 'last-message'])
    .default('history')
    .describe(
      'Rule that decides whether a request counts as made by the user or by an agent. history: the whole conversation. ' +
        'last-message: only the last message.',
    ),
  'upstream-dialect': oneOf(['auto', 'chat'])
    .default('auto')
    .describe(
      'auto: the API of the caller if the model supports it, else Responses, Messages, Chat Completions. ' +
        'chat: Chat Completions if the model supports it and it can carry the request.',
    ),
  headers: headerTable(editorHeaders)
    .prefault({})
    .meta({
      description:
        'Headers of Copilot requests, merged with the defaults. An empty value removes a header. ' +
        'auto: copilot-proxy chooses the value for each request.',
      caseless: true,
    }),
  timeouts: timeouts.prefault({}),
})

const codex = section({
  enabled: onOff.default(true).describe('Offer OpenAI Codex models if there is a Codex login or key.'),
  'base-url': chatgptUrl.default('https://chatgpt.com/backend-api/codex').describe('Endpoint for a ChatGPT login.'),
  'api-base-url': keyUrl.default('https://api.openai.com/v1').describe('Endpoint for an API key.'),
  'api-key': text.default('').meta({ description: 'OpenAI API key. Empty: the ChatGPT login is used.', secret: true }),
  issuer: chatgptUrl.default('https://auth.openai.com').describe('Base URL of the ChatGPT login.'),
  'use-cli-login': onOff
    .default(false)
    .describe('Use the login in Codex CLI’s auth.json. copilot-proxy never renews or changes it.'),
  'client-version': versionText
    .default('0.169.0')
    .describe('Codex CLI version that copilot-proxy reports. OpenAI does not list models that need a newer version.'),
})

const auth = section({
  store: oneOf(['file', 'keychain'])
    .default('file')
    .describe(
      'Storage of logins. file: files that only you can read. keychain: the same files, encrypted with keys in the system’s keychain.',
    ),
  'strict-permissions': onOff
    .default(false)
    .describe('Refuse to start if other users can read the configuration or a stored login.'),
})

const models = section({
  aliases: aliasTable
    .default({})
    .describe(
      'Other names for models: the alias (may have *), then the model. With a list of models, the next one is tried ' +
        'after 429, 402 or 5xx.',
    ),
  hide: modelList.default([]).describe('Models to hide from the model list.'),
})

const chat = section({
  'history-window': wholeNumber(0, 1_000_000)
    .default(0)
    .describe(
      'Chat Completions requests: send the system text and only this many of the last turns. 0: send everything.',
    ),
  'reasoning-content': oneOf(['auto', 'always'])
    .default('auto')
    .describe(
      'Chat Completions answers: repeat reasoning_text as reasoning_content. auto: for clients known to read it. always: for every client.',
    ),
  strict: onOff
    .default(false)
    .describe(
      'All three APIs: true refuses a request with 400 if it has a part that must be dropped or changed. false: the answer has a warning.',
    ),
})

const messages = section({
  'web-search-model': text
    .default('auto')
    .describe(
      'Copilot model with the Responses API that runs web searches for models without web search. auto: the cheapest ' +
        'GPT model. ' +
        'Empty: no searches.',
    ),
  'safeguards-model': text
    .default('auto')
    .describe(
      'Copilot model that checks the tool calls of an answer where Claude Code asks for it (auto mode). auto: the newest ' +
        'Claude Sonnet. ' +
        'Empty: such requests get 400, and Claude Code checks the calls itself.',
    ),
})

const usage = section({
  'credits-per-day': creditLimit
    .default(0)
    .describe(
      'Your budget: AI credits in a calendar day, of all requests together. At 80 % copilot-proxy warns; at 100 % it refuses ' +
        'requests, until midnight or `copilot-proxy usage allow`. 0: no limit.',
    ),
  'credits-per-month': creditLimit
    .default(0)
    .describe('As credits-per-day, in a calendar month of this machine. 0: no limit.'),
})

const workspace = section({
  'read-only': readOnlyMode
    .default(true)
    .describe(
      'true: tools change no file and run no program but what you allow the agent. false: they may do everything that .agent-policy.yaml in the workspace allows. ' +
        'locked: nothing is changed or run, whoever asks, and no tool of another program is called. read-only of a workspace in workspaces overrides it.',
    ),
  'max-file-mb': positiveNumber(64).default(4).describe('Maximum size of a file that tools read or write. MB.'),
  'tool-timeout-seconds': positiveSeconds.default(60).describe('Time limit of a tool call. Seconds.'),
  sandbox: oneOf(['auto', 'required', 'off'])
    .default('auto')
    .describe(
      'auto: commands run in bubblewrap if it works on this machine. required: commands are refused without it. ' +
        'off: commands run as you, with your network and your files.',
    ),
  'sandbox-folders': outerFolderList
    .default([])
    .describe(
      'More folders that commands in the sandbox may read. The usual toolchains in the home folder are readable anyway.',
    ),
})

const rpc = section({
  enabled: onOff.default(true).describe('Offer the tools over WebSocket at /rpc if there is a workspace.'),
})

const agent = section({
  enabled: onOff
    .default(true)
    .describe(
      'Let messages start an agent, which may change files and run commands. false: messages are only answered.',
    ),
  model: text
    .default('')
    .describe('Model that answers messages to workspaces. Empty: the one that `launch opencode` would choose.'),
  'fallback-models': modelList.default([]).describe('Models to try next, in this order, if the model cannot be used.'),
  prefix: filledText.default('agent:').describe('A message that starts with this text is for the agent.'),
  'max-steps': wholeNumber(1, 1000).default(30).describe('Maximum number of model requests of a run.'),
  'max-minutes': positiveNumber(1440)
    .default(20)
    .describe('Time limit of a run, without the time that approvals take. Minutes.'),
  'max-credits': creditLimit.default(0).describe('AI credits after which a run ends. 0: no limit.'),
  'allowed-roots': folderList
    .default(['*'])
    .describe('Folders in a workspace that the agent may use, relative to its root. *: all of it.'),
  'require-approval': onOff.default(true).describe('Ask before the agent writes a file or runs a command.'),
  protocol: oneOf(['auto', 'native', 'json'])
    .default('auto')
    .describe(
      'How models call tools. native: as tool calls of the API. json: as JSON in their text. auto: native if the model supports it.',
    ),
})

const sessions = section({
  'keep-days': wholeNumber(1, 36_500)
    .default(30)
    .describe('Delete messages to workspaces, with their runs, after this many days.'),
})

const gateway = section({
  enabled: onOff.default(false).describe('Let programs on this machine offer tools to the workspaces.'),
  host: bindHost
    .refine(isLoopbackHost, 'expected an address of this machine: other machines must not offer tools')
    .default('127.0.0.1')
    .describe('Address for tool programs. Must be an address of this machine. 127.0.0.1 includes ::1.'),
  port: port.default(9400).describe('TCP port for tool programs. They expect 9400.'),
  'trusted-programs': z
    .array(filledText, 'a list of names')
    .default([])
    .describe(
      'Names of tool programs whose tools the agent calls without an approval, and clients of /rpc and /mcp at all.',
    ),
})

/** Whether an issue is with the setting or a section around it. */
function concerns(issue: z.core.$ZodRawIssue, key: string): boolean {
  const place = [...(issue.path ?? []), ''].join('.')
  return issue.code !== 'unrecognized_keys' && `${key}.`.startsWith(place)
}

function takesToken(settings: {
  readonly copilot: z.output<typeof copilot>
  readonly 'copilot-oauth': z.output<typeof copilotOauth>
}): boolean {
  const { 'base-url': url } = settings.copilot
  const oauth = settings['copilot-oauth']
  return (
    url === '' ||
    tokenBaseUrl(url, githubHostsOf([oauth['github-base-url'], oauth['github-api-base-url']])) !== undefined
  )
}

const tokenHostKeys = ['copilot.base-url', 'copilot-oauth.github-base-url', 'copilot-oauth.github-api-base-url']

/** Every key with its default, bounds and description. Parses the result of `sanitizeCopilotOAuth`. */
export const configSchema = section({
  server: server.prefault({}),
  log: log.prefault({}),
  'copilot-oauth': copilotOauth,
  copilot,
  codex: codex.prefault({}),
  auth: auth.prefault({}),
  models: models.prefault({}),
  chat: chat.prefault({}),
  messages: messages.prefault({}),
  usage: usage.prefault({}),
  workspaces: workspaceList
    .default([])
    .describe(
      'Folders whose files tools may use: paths, or tables with path, name, read-only and allow-home. Empty: no tools.',
    ),
  workspace: workspace.prefault({}),
  rpc: rpc.prefault({}),
  agent: agent.prefault({}),
  sessions: sessions.prefault({}),
  gateway: gateway.prefault({}),
  'mcp-servers': mcpServerTable
    .default({})
    .describe('MCP servers whose tools are added to the workspaces, by name: a table with command or url.'),
}).refine(takesToken, {
  path: ['copilot', 'base-url'],
  error:
    'expected githubcopilot.com, githubusercontent.com, ghe.com, a GitHub host of copilot-oauth, a subdomain of one ' +
    'of these (https, no port), or this machine; Copilot tokens must not be sent to other hosts',
  // The check needs these settings to be valid, and nothing else.
  when: ({ issues }) => !issues.some((issue) => tokenHostKeys.some((each) => concerns(issue, each))),
})

/** With the file's kebab-case keys, all present. */
type Settings = z.output<typeof configSchema>

/** With camelCase keys, frozen. */
export type Config = CamelKeys<Settings>

/** `read-only` of a workspace, or else that of all. */
export function readOnlyModeOf(
  config: Pick<Config, 'workspace'>,
  own: Pick<Config['workspaces'][number], 'read-only'>,
): ReadOnlyMode {
  return own['read-only'] ?? config.workspace.readOnly
}

type DottedKeys<T> = {
  [Key in keyof T & string]: T[Key] extends readonly unknown[]
    ? Key
    : T[Key] extends object
      ? string extends keyof T[Key]
        ? Key
        : `${Key}.${DottedKeys<T[Key]>}`
      : Key
}[keyof T & string]

/** A setting by its dotted key, as in `server.port`. */
export type SettingKey = DottedKeys<Settings>
