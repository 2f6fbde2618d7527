import { z } from 'zod'
import type { CamelKeys } from './settings-tree.ts'
import { namedApiKeys } from './api-keys.ts'
import { headerTable } from './header-table.ts'
import { isLoopbackHost } from './loopback.ts'
import {
  aliasTable,
  apiKeyList,
  baseUrl,
  bindHost,
  endpointUrl,
  filledText,
  graceSeconds,
  headerText,
  hostList,
  keyLimitTable,
  onOff,
  oneOf,
  optionalBaseUrl,
  originList,
  port,
  positiveNumber,
  positiveSeconds,
  text,
  textList,
  versionText,
  wholeNumber,
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

/** Reasons: docs/copilot-wire.md, "Request headers". */
const copilotHeaders = {
  'user-agent': 'GitHubCopilotChat/0.54.0',
  'editor-version': 'vscode/1.126.0',
  'editor-plugin-version': 'copilot-chat/0.54.0',
  'copilot-integration-id': 'vscode-chat',
  'openai-intent': 'auto',
  'x-interaction-type': 'auto',
  'x-interaction-id': 'auto',
  'x-agent-task-id': 'auto',
  'x-github-api-version': '2026-08-01',
  'x-vscode-user-agent-library-version': 'electron-fetch',
}

const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.strictObject(shape, 'a table of settings')

const server = section({
  host: bindHost
    .default('127.0.0.1')
    .describe('Address to listen on. Addresses beyond this machine, such as 0.0.0.0, need api-keys.'),
  port: port.default(4141).describe('Port to listen on. 0 picks a free one.'),
  'api-keys': apiKeyList.default([]).meta({
    description:
      'Keys of callers, as plain text or NAME:sha256:<hash>. Create one with: copilot-proxy key add. Empty: callers need no key.',
    secret: true,
  }),
  'allowed-hosts': hostList
    .default([])
    .describe('Host names that callers may use, besides those of this machine. With keys, IP addresses need no entry.'),
  'allowed-origins': originList
    .default([])
    .describe('Web origins whose pages may call copilot-proxy, e.g. https://app.example.'),
  'body-limit-mb': positiveNumber(512).default(64).describe('Largest request body, after decompression. MB.'),
  'max-concurrent-requests': wholeNumber(1, 100_000)
    .default(64)
    .describe('Requests to serve at the same time. More requests wait in a queue.'),
  'max-queued-requests': wholeNumber(0, 100_000)
    .default(256)
    .describe('Requests that may wait. More requests get 429 with Retry-After.'),
  'max-requests-per-minute': wholeNumber(0, 1_000_000)
    .default(0)
    .describe(
      'Requests per minute for each key, or for each address without a key. More requests get 429. 0: no limit.',
    ),
  'rate-limit': oneOf(['refuse', 'wait'])
    .default('refuse')
    .describe('Requests over the limit per minute. refuse: they get 429. wait: they wait in the queue.'),
  'key-limits': keyLimitTable
    .default({})
    .describe(
      'Limits of single keys, by name: requests-per-minute, credits-per-day, models (names or patterns with *).',
    ),
  'max-connections': wholeNumber(1, 100_000)
    .default(4096)
    .describe('Open connections. More connections are closed at once.'),
  'shutdown-grace-seconds': graceSeconds
    .default(30)
    .describe('Time for running answers to finish after a stop signal. Seconds.'),
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
    const message = seen.has(lower) ? 'this key has limits already' : `no key has this name; ${keys}`
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
  level: oneOf(logLevels)
    .default('info')
    .describe('Log lines of this level and above: trace, debug, info, warn, error or silent.'),
  format: oneOf(logFormats)
    .default('auto')
    .describe('pretty: lines for people. json: one JSON object per line. auto: pretty on a terminal, json otherwise.'),
  bodies: onOff
    .default(false)
    .describe('Also log prompts and answers. They are private; turn this on only to find a problem.'),
  'cache-diagnostics': onOff
    .default(false)
    .describe('Keep hashes of the parts of each prompt in memory, so that `doctor --cache` can explain missed caches.'),
})

/** The credentials of one provider never go to the other, whatever is configured. */
const chatgptUrl = baseUrl.refine(
  takesChatgptLogin,
  'a ChatGPT login may not be sent there: expected a host of openai.com or chatgpt.com, or this machine',
)
const keyUrl = baseUrl.refine(takesOpenaiKey, 'an OpenAI key may not be sent there: that is the host of another login')
const githubUrl = endpointUrl.refine(
  takesGithubLogin,
  'a GitHub login may not be sent there: that is a host of OpenAI’s',
)

// No defaults: `sanitizeCopilotOAuth` has filled in every key before.
const copilotOauth = section({
  'auth-url': githubUrl.describe('Browser login: where the user is sent.'),
  'token-url': githubUrl.describe('Browser login: where the code is exchanged.'),
  'client-id': text.describe('Browser login: client id. Empty: only the device login is offered.'),
  'redirect-port': port.describe('Browser login: port on this machine that GitHub sends the browser back to.'),
  scope: filledText.describe('Browser login: scopes asked for.'),
  'github-base-url': githubUrl.describe('Where the device login happens.'),
  'github-api-base-url': githubUrl.describe('GitHub API that gives out Copilot tokens.'),
  'github-client-id': filledText.describe('Device login: client id.'),
  'github-scope': filledText.describe('Device login: scopes asked for.'),
})

const timeouts = section({
  'connect-seconds': positiveSeconds.default(10).describe('To open a connection. Seconds.'),
  'headers-seconds': positiveSeconds.default(300).describe('From the request to the first byte of the reply. Seconds.'),
  'idle-seconds': positiveSeconds
    .default(300)
    .describe('Between two events of a running stream; its total length has no limit. Seconds.'),
})

const copilot = section({
  'base-url': optionalBaseUrl
    .default('')
    .describe(
      'Copilot endpoint to use instead of the one that the login names; a host of GitHub’s or this machine. ' +
        'Empty: the one that the login names.',
    ),
  auth: oneOf(['exchange', 'direct'])
    .default('exchange')
    .describe(
      'exchange: the GitHub login is traded for short-lived Copilot tokens. direct: it is sent to Copilot itself. ' +
        'Tokens that GitHub does not exchange are sent directly either way.',
    ),
  'refresh-safety-margin-seconds': positiveSeconds.describe(
    'Renew the Copilot token this long before it is due. Seconds. Blank, 0 or less: 60.',
  ),
  'refresh-on-unauthorized': onOff.default(true).describe('After a 401, renew the token and repeat the request once.'),
  initiator: oneOf(['history', 'last-message'])
    .default('history')
    .describe(
      'Requests that count as agent requests. history: all after the first answer. last-message: decided by the last message.',
    ),
  'upstream-dialect': oneOf(['auto', 'chat'])
    .default('auto')
    .describe('auto: what the model supports. chat: Chat Completions wherever the model has it.'),
  headers: headerTable(copilotHeaders)
    .prefault({})
    .meta({
      description:
        'Headers of every Copilot request, laid over the defaults; an empty entry removes one. ' +
        'auto: by what the request is.',
      caseless: true,
    }),
  'client-ids': onOff
    .default(false)
    .describe('Send session, machine and device ids, made at random and kept per install, as GitHub’s editors do.'),
  timeouts: timeouts.prefault({}),
})

const codex = section({
  enabled: onOff.default(true).describe('Offer OpenAI Codex models if you have a login or key for them.'),
  'base-url': chatgptUrl.default('https://chatgpt.com/backend-api/codex').describe('Endpoint for a ChatGPT login.'),
  'api-base-url': keyUrl.default('https://api.openai.com/v1').describe('Endpoint for an API key.'),
  'api-key': text.default('').meta({ description: 'OpenAI API key. Empty: the ChatGPT login is used.', secret: true }),
  issuer: chatgptUrl.default('https://auth.openai.com').describe('Where the ChatGPT login happens.'),
  'client-id': filledText
    .default('app_EMoamEEZ73f0CkXaXp7hrann')
    .describe('ChatGPT login: client id. The one of OpenAI’s own Codex CLI, which is public.'),
  'use-cli-login': onOff
    .default(false)
    .describe(
      'Use the login that Codex CLI keeps in its auth.json, read-only: it is never renewed or changed from here.',
    ),
  originator: headerText
    .default('copilot-proxy')
    .describe('Who the program says it is to the ChatGPT backend (header originator, and the start of user-agent).'),
  'client-version': versionText
    .default('0.169.0')
    .describe('Version of Codex CLI whose model list is asked for; models newer than it are not listed.'),
  'responses-lite': oneOf(['auto', 'never'])
    .default('auto')
    .describe('auto: when a model is not found in the standard form, ask once more in the “lite” form.'),
  timeouts: timeouts.prefault({}),
})

const auth = section({
  store: oneOf(['file', 'keychain'])
    .default('file')
    .describe('Where logins are kept: files that only you can read, or such files sealed with a key in the keychain.'),
  'strict-permissions': onOff
    .default(false)
    .describe('Refuse to start if other users can read the configuration or a stored login.'),
})

const models = section({
  aliases: aliasTable
    .default({})
    .describe(
      'Other names for models, e.g. {fast: gpt-5-mini}. Names may have *. With a list of models, the next model answers ' +
        'after 429, 402 or 5xx.',
    ),
  hide: textList.default([]).describe('Models to hide from the list.'),
})

const chat = section({
  'history-window': wholeNumber(0, 1_000_000)
    .default(0)
    .describe('Of Chat Completions requests: keep system text and this many last turns; 0 keeps everything.'),
  'reasoning-content': oneOf(['auto', 'always'])
    .default('auto')
    .describe(
      'Repeat reasoning_text of Chat Completions as reasoning_content. auto: for clients known to read it. always: for every client.',
    ),
  strict: onOff
    .default(false)
    .describe('In all three APIs: refuse with 400 what would otherwise be adapted or left out with a warning.'),
})

const messages = section({
  'web-search-model': text
    .default('auto')
    .describe(
      'The Copilot model that searches the web for models that cannot, behind /responses. auto: the cheapest GPT model. ' +
        'Empty: no searches.',
    ),
})

/** The check of `copilot.base-url` needs these to be valid, and nothing else. */
const hostSettings = ['copilot.base-url', 'copilot-oauth.github-base-url', 'copilot-oauth.github-api-base-url']

/** Whether an issue is with the setting or a section around it. */
function concerns(issue: z.core.$ZodRawIssue, key: string): boolean {
  const place = [...(issue.path ?? []), ''].join('.')
  return issue.code !== 'unrecognized_keys' && `${key}.`.startsWith(place)
}

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
}).refine(
  ({ copilot: { 'base-url': url }, 'copilot-oauth': oauth }) =>
    url === '' ||
    tokenBaseUrl(url, githubHostsOf([oauth['github-base-url'], oauth['github-api-base-url']])) !== undefined,
  {
    path: ['copilot', 'base-url'],
    error:
      'a Copilot token may not be sent there: expected githubcopilot.com, githubusercontent.com, ghe.com, a GitHub ' +
      'host of copilot-oauth or a subdomain of one (https, no port), or this machine',
    when: ({ issues }) => !issues.some((issue) => hostSettings.some((key) => concerns(issue, key))),
  },
)
/** With the file's kebab-case keys, all present. */
type Settings = z.output<typeof configSchema>

/** With camelCase keys, frozen. */
export type Config = CamelKeys<Settings>

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
