import { z } from 'zod'
import { parseJson } from '../../auth/http-json.ts'
import { readJsonc } from '../../client-settings/jsonc.ts'
import { clientFiles, opencodeFiles } from './client-files.ts'
import type { ClientHomes } from './client-files.ts'
import type { ClaudeSettings, ClientSettings, CodexCliSettings, OpencodeSettings } from './client-settings.ts'
import { readToml } from './toml.ts'

export interface ClientPlaces extends ClientHomes {
  /** The text of a file; rejects where it cannot be read. */
  readonly readFile: (path: string) => Promise<string>
}

/** Reads what the clients are told. Read-only; of a file that is not there, or not understood, nothing is known. */
export async function readClientSettings({ env, homeDir, codexHome, readFile }: ClientPlaces): Promise<ClientSettings> {
  /** The first of these files that is there. */
  const read = async <T>(
    paths: readonly (string | undefined)[],
    parse: (text: string, path: string) => T | undefined,
  ): Promise<T | undefined> => {
    for (const path of paths) {
      const text = path && (await readFile(path).catch(() => undefined))
      // Without the mark that Windows editors begin a file with.
      if (path !== undefined && text !== undefined) return parse(text.replace(/^\uFEFF/, ''), path)
    }
    return undefined
  }
  const files = clientFiles({ env, homeDir, codexHome })
  const [claude, codex, opencode] = await Promise.all([
    read([files.claude], toClaude),
    read([files.codex], toCodex),
    read(files.opencode === undefined ? [] : opencodeFiles(files.opencode), toOpencode),
  ])
  return { env, claude, codex, opencode }
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

function toOpencode(text: string, path: string): OpencodeSettings | undefined {
  const parsed = opencodeFile.safeParse(readJsonc(text))
  if (!parsed.success) return undefined
  const { provider, enabled_providers: enabled, disabled_providers: disabled = [] } = parsed.data
  const providers = Object.entries(provider).flatMap(([name, { npm, options }]) =>
    options?.baseURL === undefined ? [] : [{ name, npm, baseUrl: options.baseURL }],
  )
  return { path, providers, enabled, disabled }
}
