import { callerKeyVariable } from '../config/environment.ts'
import { findProxyVariable, readExemptions } from '../config/proxy-variables.ts'
import { claudeConflicts, claudeOverlay, claudeVariables } from './claude.ts'
import type { ClientId, Target } from './target.ts'
import { codexOptions } from './codex.ts'
import { copilotCliConflicts, copilotCliOptions, copilotCliVariables } from './copilot-cli.ts'
import { opencodeContent } from './opencode.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Starts a client for one session without changing its files. */
export interface LaunchSettings {
  /** Before the user's own arguments. Visible to everybody on this machine. */
  readonly args: readonly string[]
  readonly env: Environment
  /** A temporary file, whose path follows this option. */
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
  return byClient[client]({ ...input, env: clientEnvironment(input.env, input.target.url) })
}

const byClient: Readonly<Record<ClientId, (input: LaunchInput) => LaunchSettings>> = {
  claude: ({ target, env, claudeEnv }) => {
    const noProxy = noProxyVariables({ ...env, ...claudeEnv }, target.url)
    const unset = Object.fromEntries(claudeConflicts.map((name) => [name, undefined]))
    return {
      args: [],
      env: { ...env, ...unset, ...noProxy, ...claudeVariables(target) },
      file: { option: '--settings', text: claudeOverlay(target, noProxy) },
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
  copilot: ({ target, env }) => ({
    args: copilotCliOptions(target),
    env: { ...env, ...copilotCliConflicts(env), ...copilotCliVariables(target, env['COPILOT_OFFLINE']) },
  }),
}

/** The proxy's own credentials, which programs that a model starts must not see. */
const ownCredentials = ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROXY_CODEX_API_KEY', 'COPILOT_PROXY_SERVER_API_KEYS'] as const

/** The environment of a client that calls this URL. */
export function clientEnvironment(env: Environment, url: string): Environment {
  const unset = Object.fromEntries(ownCredentials.map((name) => [name, undefined]))
  return { ...env, ...unset, ...noProxyVariables(env, url) }
}

/** Exempts this machine from the user's proxy, in both spellings, because clients differ. */
function noProxyVariables(env: Environment, url: string): Readonly<Record<string, string>> {
  if (findProxyVariable(env, ['http', 'https', 'all']) === undefined) return {}
  const { entries } = readExemptions(env)
  const hosts = [...new Set([...entries, new URL(url).hostname, '127.0.0.1', 'localhost'])].join(',')
  return { NO_PROXY: hosts, no_proxy: hosts }
}
