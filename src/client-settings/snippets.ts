import { claudeVariables } from './claude.ts'
import { codexSettings, tomlValue } from './codex.ts'
import { copilotCliOptions, copilotCliVariables } from './copilot-cli.ts'
import { formatJson } from './jsonc.ts'
import { opencodeSettings } from './opencode.ts'
import { nativeDialect, providerName } from './target.ts'
import type { ClientModel, Target } from './target.ts'

type Dialect = ReturnType<typeof nativeDialect>

/** Settings of a client, for a person to copy. */
export interface Snippet {
  readonly name: string
  /** What to do with the text, as a clause. */
  readonly instruction: string
  /** What else to do, in sentences. */
  readonly note?: string
  readonly language: 'json' | 'toml' | 'yaml' | 'shell'
  /** The API that the client will use; `native`: for each model the one that its upstream speaks. */
  readonly dialect: Dialect | 'native'
  readonly text: (target: Target) => string
}

function json(value: object): string {
  return `${formatJson(value)}\n`
}

/** Quotes for a shell. */
function quoted(value: string): string {
  return /^[\w./:@-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`
}

function exports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('')
}

function tomlLines(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} = ${tomlValue(value)}\n`)
    .join('')
}

/** For clients that ask for a number: every model takes this many tokens. */
const anyContext = 64_000
const anyOutput = 8000

/** Models as VS Code lists them. The address of a model has the path of its API. */
function vscodeModel(model: ClientModel, url: string): object {
  const { id, contextTokens, outputTokens, vision, tools, thinks } = model
  const dialect = nativeDialect(model)
  return {
    id,
    name: id,
    url: `${url}${vscodeApis[dialect].path}`,
    apiType: vscodeApis[dialect].type,
    toolCalling: tools,
    vision,
    thinking: thinks,
    maxInputTokens: contextTokens ?? anyContext,
    maxOutputTokens: outputTokens ?? anyOutput,
    // Otherwise it sends only what is new, and an answer that is no longer stored ends the conversation.
    ...(dialect === 'responses' && { zeroDataRetentionEnabled: true }),
  }
}

const vscodeApis = {
  chat: { type: 'chat-completions', path: '/v1/chat/completions' },
  responses: { type: 'responses', path: '/v1/responses' },
  messages: { type: 'messages', path: '/v1/messages' },
} as const satisfies Readonly<Record<Dialect, object>>

function piModel(model: ClientModel, url: string): object {
  const { id, contextTokens, outputTokens, vision, thinks } = model
  const dialect = nativeDialect(model)
  return {
    id,
    api: piApis[dialect],
    // It adds /v1 itself.
    ...(dialect === 'messages' && { baseUrl: url }),
    reasoning: thinks,
    input: vision ? ['text', 'image'] : ['text'],
    ...(contextTokens !== undefined && { contextWindow: contextTokens }),
    ...(outputTokens !== undefined && { maxTokens: outputTokens }),
  }
}

const piApis = {
  chat: 'openai-completions',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
} as const satisfies Readonly<Record<Dialect, string>>

/** Model ids contain nothing that JSON and YAML write differently. */
const yamlText = JSON.stringify

export const snippets = {
  claude: {
    name: 'Claude Code',
    instruction: 'add this to ~/.claude/settings.json',
    language: 'json',
    dialect: 'messages',
    text: (target) => json({ env: claudeVariables(target) }),
  },
  codex: {
    name: 'Codex CLI',
    instruction: 'add this to ~/.codex/config.toml',
    language: 'toml',
    dialect: 'responses',
    text: (target) => {
      const { root, provider } = codexSettings(target)
      return `${tomlLines(root)}\n[model_providers.${providerName}]\n${tomlLines(provider)}`
    },
  },
  opencode: {
    name: 'opencode',
    instruction: 'add this to ~/.config/opencode/opencode.json',
    language: 'json',
    dialect: 'native',
    text: (target) => {
      const { provider, ...models } = opencodeSettings(target)
      return json({ $schema: 'https://opencode.ai/config.json', ...models, provider: { [providerName]: provider } })
    },
  },
  copilot: {
    name: 'Copilot CLI',
    instruction: 'run this in the shell that starts copilot',
    note: 'The Copilot CLI reads these settings from no file. To set them for one session: copilot-proxy launch copilot',
    language: 'shell',
    dialect: 'native',
    text: (target) => `${exports(copilotCliVariables(target))}copilot ${copilotCliOptions(target).join(' ')}\n`,
  },
  vscode: {
    name: 'VS Code',
    instruction:
      'add this to chatLanguageModels.json (command "Chat: Manage Language Models", Add Models, Custom Endpoint)',
    note:
      'VS Code needs no GitHub login for these models. It also needs chat.utilityModel and chat.utilitySmallModel, its settings ' +
      'for titles and commit messages.',
    language: 'json',
    dialect: 'native',
    text: ({ url, key, models }) =>
      json([
        {
          name: providerName,
          vendor: 'customendpoint',
          apiKey: key,
          models: models.map((model) => vscodeModel(model, url)),
        },
      ]),
  },
  'claude-desktop': {
    name: 'Claude Desktop',
    instruction:
      'turn on Help > Troubleshooting > Enable Developer Mode, and enter this in Developer > Configure Third-Party Inference',
    note: 'Claude Desktop uses only Claude models: an Opus, a Sonnet and a Haiku of your list.',
    language: 'yaml',
    dialect: 'messages',
    text: ({ url, key }) =>
      `Provider: Gateway\nBase URL: ${yamlText(url)}\nAPI key: ${yamlText(key)}\nAuth scheme: bearer\n`,
  },
  pi: {
    name: 'pi',
    instruction: 'add this to ~/.pi/agent/models.json',
    language: 'json',
    dialect: 'native',
    text: ({ url, key, models }) =>
      json({
        providers: {
          [providerName]: {
            baseUrl: `${url}/v1`,
            apiKey: key,
            models: models.filter(({ tools }) => tools).map((model) => piModel(model, url)),
          },
        },
      }),
  },
  cursor: {
    name: 'Cursor',
    instruction: 'enter this in Settings > Models > API Keys',
    note:
      'Cursor sends requests from its own servers. Replace the address with one that the internet can reach, and use ' +
      'a key (copilot-proxy key add).',
    language: 'yaml',
    dialect: 'chat',
    text: ({ url, key, chosen }) =>
      `OpenAI API Key: ${yamlText(key)}\n` +
      `Override OpenAI Base URL: ${yamlText(`${url}/v1`)}\n` +
      `Add model: ${yamlText(chosen.main.id)}\n`,
  },
  continue: {
    name: 'Continue',
    instruction: 'add this to ~/.continue/config.yaml',
    language: 'yaml',
    dialect: 'chat',
    text: ({ url, key, chosen }) =>
      'name: copilot-proxy\nversion: 1.0.0\nschema: v1\nmodels:\n' +
      [chosen.main, chosen.small]
        .filter(({ id }, at, all) => all.findIndex((model) => model.id === id) === at)
        .map(
          ({ id }) =>
            `  - name: ${yamlText(id)}\n    provider: openai\n    model: ${yamlText(id)}\n` +
            `    apiBase: ${yamlText(`${url}/v1`)}\n    apiKey: ${yamlText(key)}\n`,
        )
        .join(''),
  },
  cline: {
    name: 'Cline',
    instruction: 'enter this in Settings > API Configuration',
    language: 'yaml',
    dialect: 'chat',
    text: ({ url, key, chosen }) =>
      'API Provider: OpenAI Compatible\n' +
      `Base URL: ${yamlText(`${url}/v1`)}\nAPI Key: ${yamlText(key)}\nModel ID: ${yamlText(chosen.main.id)}\n`,
  },
  aider: {
    name: 'aider',
    instruction: 'add this to ~/.aider.conf.yml',
    language: 'yaml',
    dialect: 'chat',
    text: ({ url, key, chosen }) =>
      `openai-api-base: ${yamlText(`${url}/v1`)}\nopenai-api-key: ${yamlText(key)}\n` +
      `model: ${yamlText(`openai/${chosen.main.id}`)}\nweak-model: ${yamlText(`openai/${chosen.small.id}`)}\n`,
  },
  zed: {
    name: 'Zed',
    instruction: 'add this to ~/.config/zed/settings.json',
    note: 'Enter the key in the agent settings of Zed, or set COPILOT_PROXY_API_KEY.',
    language: 'json',
    dialect: 'chat',
    text: ({ url, chosen, models }) =>
      json({
        language_models: {
          openai_compatible: {
            [providerName]: {
              api_url: `${url}/v1`,
              available_models: models.map(({ id, contextTokens, outputTokens, vision, tools }) => ({
                name: id,
                max_tokens: contextTokens ?? anyContext,
                ...(outputTokens !== undefined && { max_output_tokens: outputTokens }),
                capabilities: { tools, images: vision, parallel_tool_calls: tools, prompt_cache_key: false },
              })),
            },
          },
        },
        agent: { default_model: { provider: providerName, model: chosen.main.id } },
      }),
  },
  'open-webui': {
    name: 'Open WebUI',
    instruction: 'run this in a shell',
    note:
      'In a container, 127.0.0.1 is the container itself. Set server.host to 0.0.0.0, create a key (copilot-proxy key ' +
      'add), and use the address of this machine.',
    language: 'shell',
    dialect: 'chat',
    text: ({ url, key }) =>
      exports({ ENABLE_OPENAI_API: 'true', OPENAI_API_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key }) +
      'open-webui serve\n',
  },
  'openai-sdk': {
    name: 'OpenAI SDKs',
    instruction: 'run this in the shell that starts your program',
    language: 'shell',
    dialect: 'chat',
    text: ({ url, key, chosen }) =>
      `${exports({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key })}# model: ${chosen.main.id}\n`,
  },
  'anthropic-sdk': {
    name: 'Anthropic SDKs',
    instruction: 'run this in the shell that starts your program',
    language: 'shell',
    dialect: 'messages',
    text: ({ url, key, chosen }) =>
      `${exports({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key })}# model: ${chosen.main.id}\n`,
  },
  curl: {
    name: 'curl',
    instruction: 'run this in a shell',
    language: 'shell',
    dialect: 'chat',
    text: ({ url, key, chosen }) => {
      const body = JSON.stringify({ model: chosen.main.id, messages: [{ role: 'user', content: 'Say hello' }] })
      return (
        `curl ${quoted(`${url}/v1/chat/completions`)} \\\n  -H 'content-type: application/json' \\\n` +
        `  -H ${quoted(`authorization: Bearer ${key}`)} \\\n  -d ${quoted(body)}\n`
      )
    },
  },
} as const satisfies Readonly<Record<string, Snippet>>

export type SnippetId = keyof typeof snippets

/** Clients that cannot use the proxy yet, and what to do instead. */
export const waitingClients = {
  gemini:
    'Gemini CLI cannot use copilot-proxy yet, because it speaks only the Gemini API. To use Gemini models in another client: ' +
    'copilot-proxy launch copilot --model MODEL, with an id from copilot-proxy models.',
} as const satisfies Readonly<Record<string, string>>

export type WaitingClientId = keyof typeof waitingClients
