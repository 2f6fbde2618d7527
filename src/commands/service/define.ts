import { callerKeyVariable } from '../../config/environment.ts'
import { findBackgroundPlace } from '../background/place.ts'
import type { CommandContext } from '../context.ts'
import type { LoadedSettings } from '../settings.ts'
import type { ServiceDefinition } from './definition.ts'

/** Variables that say where things are. None of them can hold a credential. */
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

/** These are passed on unless a user name or password is in them. */
const proxyVariables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/** For closing what is left after the grace period, before the system ends it the hard way. */
const marginSeconds = 15

export interface DefinedService {
  readonly definition: ServiceDefinition
  /** Variables in force here that the service will not have. */
  readonly leftOut: readonly string[]
}

/** This program, with these settings, as a service of this user. */
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
    // That is for callers.
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
      logFile: findBackgroundPlace(context).logFile,
    },
    leftOut: leftOut.toSorted(),
  }
}
