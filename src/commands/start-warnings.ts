import { statSync } from 'node:fs'
import { parseApiKeyEntry } from '../config/api-key-entry.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import type { CommandContext } from './context.ts'
import type { LoadedSettings } from './settings.ts'

/** A key that is shorter can be found by trying. Characters. */
const shortestGoodKey = 16

type Settings = Pick<LoadedSettings, 'config' | 'configFile' | 'sources'>

/**
 * Why others of this machine can read a key in the configuration file, as a sentence; undefined where they cannot. On
 * Windows a mode says nothing.
 */
export function exposedKeys(
  { config, configFile, sources }: Settings,
  platform: CommandContext['platform'],
): string | undefined {
  if (platform === 'win32') return undefined
  const hasPlainKey = config.server.apiKeys.some((entry) => parseApiKeyEntry(entry)?.form === 'plain')
  const held = [
    ...(hasPlainKey ? ['server.api-keys'] : []),
    ...(config.codex.apiKey === '' ? [] : ['codex.api-key']),
  ].filter((key) => sources[key]?.kind === 'file')
  if (held.length === 0 || !isReadableByOthers(configFile)) return undefined
  return `${configFile} holds ${held.join(' and ')}, and other users of this machine can read it: chmod 600 ${configFile}`
}

/** What is worth knowing about a configuration that is in force, a sentence each. */
export function startWarnings(settings: Settings, platform: CommandContext['platform']): readonly string[] {
  const { host, apiKeys } = settings.config.server
  const exposed = exposedKeys(settings, platform)
  const isShort = apiKeys.some((text) => {
    const entry = parseApiKeyEntry(text)
    return entry?.form === 'plain' && entry.key.length < shortestGoodKey
  })
  return [
    ...(exposed === undefined ? [] : [exposed]),
    ...(isLoopbackHost(host)
      ? []
      : [
          `other machines can reach copilot-proxy at ${host} (server.host); they need one of server.api-keys, which ` +
            'travels unencrypted',
          ...(isShort
            ? ['a key of server.api-keys is short enough to be guessed; copilot-proxy key add makes one that is not']
            : []),
        ]),
  ]
}

function isReadableByOthers(file: string): boolean {
  try {
    return (statSync(file).mode & 0o044) !== 0
  } catch {
    // It has gone since it was read.
    return false
  }
}
