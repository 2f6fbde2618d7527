import { claudeVariables } from './claude.ts'
import { codexSettings, tomlValue } from './codex.ts'
import { formatJson } from './jsonc.ts'
import { opencodeSettings } from './opencode.ts'
import { providerName } from './target.ts'
import type { Target } from './target.ts'

/** Settings of a client, for a person to copy. */
export interface Snippet {
  readonly name: string
  /** What to do with the text, as a clause. */
  readonly instruction: string
  /** What else to do, in sentences. */
  readonly note?: string
  readonly language: 'json' | 'toml' | 'yaml' | 'shell'
  /** The API that the client will use. */
  readonly dialect: 'chat' | 'responses' | 'messages'
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
    dialect: 'chat',
    text: (target) => {
      const { provider, ...models } = opencodeSettings(target)
      return json({ $schema: 'https://opencode.ai/config.json', ...models, provider: { [providerName]: provider } })
    },
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
                // It asks for a number; this one every model has.
                max_tokens: contextTokens ?? 64_000,
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
