import { join } from 'node:path'
import { z } from 'zod'
import { readJsonc } from '../../json/jsonc.ts'
import { tomlStrings } from '../../client-settings/toml.ts'
import { findCodexHome } from '../shared/settings.ts'
import type { CommandContext } from '../shared/command.ts'
import { parseJson } from '../../json/json.ts'

/** Settings of programs that call the proxy, from the environment and their files. */
export interface ClientSettings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly claude: ClaudeSettings | undefined
  readonly codex: CodexCliSettings | undefined
  readonly opencode: OpencodeSettings | undefined
}

/** `env` of Claude Code's settings.json, which overrides the environment. */
interface ClaudeSettings {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
  /** Claude Code ignores a file that is not plain JSON (seen with 2.1.329). */
  readonly isPassedOver: boolean
}

/** The provider that Codex CLI's config.toml selects. */
export interface CodexCliSettings {
  readonly path: string
  /** `model_provider`; undefined: OpenAI's own. */
  readonly provider: string | undefined
  /** `base_url` of that provider. */
  readonly baseUrl: string | undefined
  /** `env_key` of that provider: the variable that has to hold a key. */
  readonly envKey: string | undefined
  /** `model_catalog_json`: the file with the models that it offers. */
  readonly catalogue: string | undefined
}

/** Merged from all its files. */
export interface OpencodeSettings {
  readonly providers: readonly OpencodeProvider[]
  /** `enabled_providers`: all others are ignored. */
  readonly enabled: ProviderList | undefined
  /** `disabled_providers` */
  readonly disabled: ProviderList | undefined
}

interface ProviderList {
  readonly path: string
  readonly names: readonly string[]
}

export interface OpencodeProvider {
  readonly path: string
  readonly name: string
  /** For example `@ai-sdk/anthropic`; undefined for a provider that is built into opencode. */
  readonly npm: string | undefined
  readonly baseUrl: string
}

export interface ClientHomes {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly homeDir: string | undefined
  /** `$CODEX_HOME` or its default. */
  readonly codexHome: string | undefined
}

export function homesOf(context: CommandContext): ClientHomes {
  return { env: context.env, homeDir: homeOrNone(context), codexHome: findCodexHome(context) }
}

function homeOrNone({ homeDir }: CommandContext): string | undefined {
  try {
    return homeDir()
  } catch {
    return undefined
  }
}

/** Paths of each client's settings, which may not exist; undefined without a home folder. */
export interface ClientFiles {
  readonly claude: string | undefined
  readonly codex: string | undefined
  readonly opencode: string | undefined
}

/** Source: code.claude.com/docs/en/settings, developers.openai.com/codex/config, opencode.ai/docs/config (2026-11). */
export function clientFiles({ env, homeDir, codexHome }: ClientHomes): ClientFiles {
  const claudeDir = env['CLAUDE_CONFIG_DIR'] || (homeDir && join(homeDir, '.claude'))
  const opencodeDir = opencodeFolder(env, homeDir)
  return {
    claude: claudeDir && join(claudeDir, 'settings.json'),
    codex: codexHome && join(codexHome, 'config.toml'),
    opencode: env['OPENCODE_CONFIG'] || (opencodeDir && join(opencodeDir, 'opencode.json')),
  }
}

/**
 * The files with the MCP servers of each client.
 * Source: code.claude.com/docs/en/mcp (2026-11); `claude mcp add`, `codex mcp add` and `opencode mcp list` as they behave.
 */
export function mcpFiles(homes: ClientHomes): ClientFiles {
  const { env, homeDir } = homes
  const claudeDir = env['CLAUDE_CONFIG_DIR'] || homeDir
  return { ...clientFiles(homes), claude: claudeDir && join(claudeDir, '.claude.json') }
}

/**
 * Every file that opencode merges; later files take precedence (seen with `opencode debug config`).
 * @param folders of the project, the outermost first
 */
function opencodeLayers({ env, homeDir }: ClientHomes, folders: readonly string[]): readonly string[] {
  const ofUser = opencodeFolder(env, homeDir)
  const named = env['OPENCODE_CONFIG']
  return [
    ...(ofUser === undefined ? [] : ['config.json', ...opencodeNames].map((name) => join(ofUser, name))),
    ...(named ? [named] : []),
    ...folders.flatMap((folder) => opencodeNames.map((name) => join(folder, name))),
  ]
}

const opencodeNames = ['opencode.json', 'opencode.jsonc'] as const

function opencodeFolder(env: ClientHomes['env'], homeDir: string | undefined): string | undefined {
  const configDir = env['XDG_CONFIG_HOME'] || (homeDir && join(homeDir, '.config'))
  return configDir && join(configDir, 'opencode')
}

export interface ClientSources extends ClientHomes {
  /** Folders of the project that a client is started in, the outermost first; none without a project. */
  readonly projectFolders?: readonly string[]
  /** Rejects if the file cannot be read. */
  readonly readFile: (path: string) => Promise<string>
}

/** Reads the settings of all clients. Missing and unparsable files are ignored. */
export async function readClientSettings(places: ClientSources): Promise<ClientSettings> {
  const { env, homeDir, codexHome, projectFolders = [], readFile } = places
  const read = async <T>(
    path: string | undefined,
    parse: (text: string, path: string) => T | undefined,
  ): Promise<T | undefined> => {
    const text = path && (await readFile(path).catch(() => undefined))
    // Windows editors write a byte order mark.
    return path === undefined || text === undefined ? undefined : parse(text.replace(/^\uFEFF/, ''), path)
  }
  const files = clientFiles({ env, homeDir, codexHome })
  const layers = opencodeLayers({ env, homeDir, codexHome }, projectFolders)
  const [claude, codex, ...opencode] = await Promise.all([
    read(files.claude, toClaude),
    read(files.codex, toCodex),
    ...layers.map((path) => read(path, toOpencodeLayer)),
  ])
  return { env, claude, codex, opencode: mergeOpencode(opencode.filter((layer) => layer !== undefined)) }
}

const claudeFile = z.looseObject({ env: z.record(z.string(), z.unknown()).catch({}) })

function toClaude(text: string, path: string): ClaudeSettings {
  const plain = parseJson(text)
  const { data } = claudeFile.safeParse(plain)
  const env = Object.entries(data?.env ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  )
  return { path, env: Object.fromEntries(env), isPassedOver: plain === undefined && text.trim() !== '' }
}

function toCodex(text: string, path: string): CodexCliSettings | undefined {
  const toml = tomlStrings(text)
  if (toml === undefined) return undefined
  const profile = toml.get('profile')
  const ofProfile = profile === undefined ? undefined : toml.get(`profiles.${profile}.model_provider`)
  const provider = ofProfile ?? toml.get('model_provider')
  const table = `model_providers.${provider}`
  return {
    path,
    provider,
    baseUrl: toml.get(`${table}.base_url`),
    envKey: toml.get(`${table}.env_key`),
    catalogue: toml.get('model_catalog_json'),
  }
}

const names = z.array(z.string()).optional().catch(undefined)

const opencodeFile = z.looseObject({
  provider: z
    .record(
      z.string(),
      z.looseObject({
        npm: z.string().optional().catch(undefined),
        options: z
          .looseObject({ baseURL: z.string().optional().catch(undefined) })
          .optional()
          .catch(undefined),
      }),
    )
    .default({}),
  enabled_providers: names,
  disabled_providers: names,
})

interface OpencodeLayer {
  readonly path: string
  readonly provider: z.infer<typeof opencodeFile>['provider']
  readonly enabled: readonly string[] | undefined
  readonly disabled: readonly string[] | undefined
}

function toOpencodeLayer(text: string, path: string): OpencodeLayer | undefined {
  const { data } = opencodeFile.safeParse(readJsonc(text))
  return data && { path, provider: data.provider, enabled: data.enabled_providers, disabled: data.disabled_providers }
}

function mergeOpencode(layers: readonly OpencodeLayer[]): OpencodeSettings | undefined {
  if (layers.length === 0) return undefined
  const providers = new Map<string, Omit<OpencodeProvider, 'baseUrl'> & { readonly baseUrl: string | undefined }>()
  for (const { path, provider } of layers) {
    for (const [name, { npm, options }] of Object.entries(provider)) {
      const known = providers.get(name)
      providers.set(name, { path, name, npm: npm ?? known?.npm, baseUrl: options?.baseURL ?? known?.baseUrl })
    }
  }
  const last = (key: 'enabled' | 'disabled'): ProviderList | undefined => {
    const layer = layers.findLast((each) => each[key] !== undefined)
    return layer && { path: layer.path, names: layer[key] ?? [] }
  }
  return {
    providers: [...providers.values()].flatMap(({ baseUrl, ...provider }) =>
      baseUrl === undefined ? [] : [{ ...provider, baseUrl }],
    ),
    enabled: last('enabled'),
    disabled: last('disabled'),
  }
}
