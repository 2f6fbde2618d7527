import { callerKeyVariable } from '../config/environment.ts'
import { claudeConflicts, claudeOverlay, claudeVariables } from './claude.ts'
import type { ClientId } from './clients.ts'
import { codexOptions } from './codex.ts'
import { opencodeContent } from './opencode.ts'
import type { Target } from './target.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** How a client is started for one session, its own files left alone. */
export interface LaunchSettings {
  /** Before the user's own arguments. Anybody on this machine can read them. */
  readonly args: readonly string[]
  /** The whole environment. */
  readonly env: Environment
  /** A file for this session, whose path is handed over behind this option. */
  readonly file?: { readonly option: string; readonly text: string }
}

interface LaunchInput {
  readonly target: Target
  readonly env: Environment
  /** `env` of Claude Code's own settings file, which may name a proxy. */
  readonly claudeEnv: Environment
  /** `enabled_providers` of opencode's own settings files. */
  readonly opencodeEnabled?: readonly string[] | undefined
}

export function launchSettings(client: ClientId, input: LaunchInput): LaunchSettings {
  return byClient[client]({ ...input, env: scoped(input.env, input.target.url) })
}

const byClient: Readonly<Record<ClientId, (input: LaunchInput) => LaunchSettings>> = {
  claude: ({ target, env, claudeEnv }) => {
    const way = wayThere({ ...env, ...claudeEnv }, target.url)
    const none = Object.fromEntries(claudeConflicts.map((name) => [name, undefined]))
    return {
      args: [],
      env: { ...env, ...none, ...way, ...claudeVariables(target) },
      file: { option: '--settings', text: claudeOverlay(target, way) },
    }
  },
  codex: ({ target, env }) => ({ args: codexOptions(target), env: { ...env, [callerKeyVariable]: target.key } }),
  opencode: ({ target, env, opencodeEnabled }) => ({
    args: [],
    env: {
      ...env,
      [callerKeyVariable]: target.key,
      OPENCODE_CONFIG_CONTENT: opencodeContent(target, env['OPENCODE_CONFIG_CONTENT'], opencodeEnabled),
    },
  }),
}

/** Credentials of the proxy's own: what a client runs for a model has no business with them. */
const ownCredentials = ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROXY_CODEX_API_KEY', 'COPILOT_PROXY_SERVER_API_KEYS'] as const

function scoped(env: Environment, url: string): Environment {
  const none = Object.fromEntries(ownCredentials.map((name) => [name, undefined]))
  return { ...env, ...none, ...wayThere(env, url) }
}

const proxyVariables = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']

/** Many clients send calls to this very machine through a proxy unless they are told not to, in either case of letters. */
function wayThere(env: Environment, url: string): Readonly<Record<string, string>> {
  if (!proxyVariables.some((name) => (env[name] ?? '') !== '')) return {}
  const exempt = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(',').map((host) => host.trim())
  const hosts = [...new Set([...exempt, new URL(url).hostname, '127.0.0.1', 'localhost'])].filter(Boolean).join(',')
  return { NO_PROXY: hosts, no_proxy: hosts }
}
