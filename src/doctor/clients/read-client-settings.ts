import { z } from 'zod'
import { parseJson } from '../../auth/http-json.ts'
import { readJsonc } from '../../client-settings/jsonc.ts'
import { clientFiles, opencodeLayers } from './client-files.ts'
import type { ClientHomes } from './client-files.ts'
import type {
  ClaudeSettings,
  ClientSettings,
  CodexCliSettings,
  OpencodeProvider,
  OpencodeSettings,
  ProviderList,
} from './client-settings.ts'
import { readToml } from './toml.ts'

export interface ClientPlaces extends ClientHomes {
  /** Of the project that a client is started in, the outermost first; none where no project is meant. */
  readonly projectFolders?: readonly string[]
  /** The text of a file; rejects where it cannot be read. */
  readonly readFile: (path: string) => Promise<string>
}

/** Reads what the clients are told. Read-only; of a file that is not there, or not understood, nothing is known. */
export async function readClientSettings(places: ClientPlaces): Promise<ClientSettings> {
  const { env, homeDir, codexHome, projectFolders = [], readFile } = places
  const read = async <T>(
    path: string | undefined,
    parse: (text: string, path: string) => T | undefined,
  ): Promise<T | undefined> => {
    const text = path && (await readFile(path).catch(() => undefined))
    // Without the mark that Windows editors begin a file with.
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

function toCodex(text: string, path: string): CodexCliSettings {
  const toml = readToml(text)
  const profile = toml.get('profile')
  const ofProfile = profile === undefined ? undefined : toml.get(`profiles.${profile}.model_provider`)
  const provider = ofProfile ?? toml.get('model_provider')
  const table = `model_providers.${provider}`
  return { path, provider, baseUrl: toml.get(`${table}.base_url`), envKey: toml.get(`${table}.env_key`) }
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

/** What one file says. */
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
