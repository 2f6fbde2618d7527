import { join } from 'node:path'

export interface ClientHomes {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Undefined where the user has none. */
  readonly homeDir: string | undefined
  /** `$CODEX_HOME` or its default. */
  readonly codexHome: string | undefined
}

/** Where each client keeps its settings, whether or not there are any; undefined where there is no home for them. */
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
 * Every file that opencode makes its settings of; where two say different things, the later one counts (seen with opencode
 * itself, `opencode debug config`).
 * @param folders of the project, the outermost first
 */
export function opencodeLayers({ env, homeDir }: ClientHomes, folders: readonly string[]): readonly string[] {
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
