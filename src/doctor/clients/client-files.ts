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
  const inHome = (...names: readonly string[]) => (homeDir === undefined ? undefined : join(homeDir, ...names))
  const claudeDir = env['CLAUDE_CONFIG_DIR'] || inHome('.claude')
  const configDir = env['XDG_CONFIG_HOME'] || inHome('.config')
  return {
    claude: claudeDir && join(claudeDir, 'settings.json'),
    codex: codexHome && join(codexHome, 'config.toml'),
    opencode: env['OPENCODE_CONFIG'] || (configDir && join(configDir, 'opencode', 'opencode.json')),
  }
}

/** The names that opencode's settings may have, what a person writes by hand often the one with comments. */
export function opencodeFiles(path: string): readonly string[] {
  return path.endsWith('.jsonc') ? [path] : [path, `${path}c`]
}

/**
 * Every file that opencode makes its settings of; where two say different things, the later one counts (seen with opencode
 * itself, `opencode debug config`).
 * @param folders of the project, the outermost first
 */
export function opencodeLayers({ env, homeDir }: ClientHomes, folders: readonly string[]): readonly string[] {
  const { opencode: own } = clientFiles({ env: { ...env, OPENCODE_CONFIG: undefined }, homeDir, codexHome: undefined })
  const ofUser = own === undefined ? [] : [join(own, '..', 'config.json'), ...opencodeFiles(own)]
  const named = env['OPENCODE_CONFIG'] ? [env['OPENCODE_CONFIG']] : []
  return [...ofUser, ...named, ...folders.flatMap((folder) => opencodeFiles(join(folder, 'opencode.json')))]
}
