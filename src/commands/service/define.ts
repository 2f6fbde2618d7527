import { callerKeyVariable } from '../../config/environment.ts'
import { findStateFiles } from '../background/background-daemon.ts'
import type { CommandContext } from '../shared/command.ts'
import type { LoadedSettings } from '../shared/settings.ts'

/** Variables with paths, none with credentials. */
const passedVariables = [
  'COPILOT_PROXY_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'CODEX_HOME',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_SYSTEM_CA',
  'NO_PROXY',
  'no_proxy',
] as const

/** Passed on unless they hold a user name or password. */
const proxyVariables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/** For cleanup after the grace period, before the system kills the process. */
const marginSeconds = 15

export interface DefinedService {
  readonly definition: ServiceDefinition
  /** Variables in force here that the service will not have. */
  readonly leftOut: readonly string[]
}

/** This program with these settings, as a service of this user. */
export function defineService(context: CommandContext, settings: LoadedSettings): DefinedService {
  const { env, self } = context
  const passed = new Map<string, string>()
  for (const name of passedVariables) {
    const value = env[name]
    if (value) passed.set(name, value)
  }
  for (const name of proxyVariables) {
    const value = env[name]
    if (value && !value.includes('@')) passed.set(name, value)
  }
  const leftOut = Object.keys(env).filter((name) => {
    const isOurs = /^COPILOT_(PROXY_|GITHUB_TOKEN$)/.test(name) || proxyVariables.some((known) => known === name)
    // That variable is for clients.
    return isOurs && name !== callerKeyVariable && Boolean(env[name]) && !passed.has(name)
  })
  return {
    definition: {
      command: [
        ...self,
        'serve',
        '--background=service',
        ...(settings.isNamed ? [`--config=${settings.configFile}`] : []),
      ],
      environment: Object.fromEntries(passed),
      stopSeconds: settings.config.server.shutdownGraceSeconds + marginSeconds,
      logFile: findStateFiles(context).logFile,
    },
    leftOut: leftOut.toSorted(),
  }
}

/** What a service file contains. No secrets: such files are often copied and shown. */
export interface ServiceDefinition {
  /** Node.js, script and arguments, as absolute paths: a service has a minimal search path. */
  readonly command: readonly [string, ...string[]]
  readonly environment: Readonly<Record<string, string>>
  /** For open requests to finish, and a margin. */
  readonly stopSeconds: number
  /** For standard error, where the system does not keep that itself. */
  readonly logFile: string
}

/** Identifies files that this program may replace or remove. */
export const marker = 'Written by copilot-proxy service install, and replaced by the next one.'
