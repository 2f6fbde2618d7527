import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { inspectAuthFolder } from '../../auth/records/inspect-permissions.ts'
import { parseApiKeyEntry } from '../../config/api-keys.ts'
import { isLoopbackHost } from '../../config/loopback.ts'
import type { Config } from '../../config/schema.ts'
import { recordPlace } from '../shared/accounts.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { daemonUrl, findPortHolder, listenerText } from '../shared/find-daemon.ts'
import type { LoadedSettings } from '../shared/settings.ts'

/** Shorter keys can be guessed. Characters. */
const shortestGoodKey = 16

type Settings = Pick<LoadedSettings, 'config' | 'configFile' | 'sources'>

/**
 * A warning if other users of this machine can read a key in the configuration file. Windows modes say nothing about
 * that.
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
  return `other users of this machine can read ${held.join(' and ')} in ${configFile}. Run: chmod 600 ${configFile}`
}

/** Warnings about the configuration in force. */
export function startWarnings(settings: Settings, platform: CommandContext['platform']): readonly string[] {
  const { host, apiKeys, allowedHosts } = settings.config.server
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
          `other machines can use copilot-proxy at ${host} (server.host) with a key; keys and prompts are sent ` +
            'unencrypted',
          ...(allowedHosts.length === 0 && isIP(host) !== 0
            ? ['other machines must use an IP address; to use a name, add it to server.allowed-hosts']
            : []),
          ...(isShort
            ? ['a key in server.api-keys is short and easy to guess. Create a better one: copilot-proxy key add']
            : []),
        ]),
  ]
}

function isReadableByOthers(file: string): boolean {
  try {
    return (statSync(file).mode & 0o044) !== 0
  } catch {
    // Deleted since it was read.
    return false
  }
}

/**
 * Checks that stored logins are protected as configured.
 * @throws CommandFailure `failed` if others can access one and `auth.strict-permissions` is on; RecordStoreError
 * `keychain` where `auth.store: keychain` finds no keychain
 */
export async function requireLoginsKept(context: CommandContext, settings: LoadedSettings): Promise<void> {
  const { dir, rules, keychain } = recordPlace(context, settings)
  if (rules.strictPermissions) {
    const findings = await inspectAuthFolder(dir)
    if (findings.length > 0) {
      const lines = findings.map(({ detail, fix }) => `  ${detail}. Run: ${fix}\n`)
      const message = `Other users can access your stored logins (auth.strict-permissions):\n${lines.join('')}`
      throw new CommandFailure(exitCode.failed, message.trimEnd())
    }
  }
  // A locked keychain may be unlocked later, and is reported when a login is needed.
  if (rules.store === 'keychain') await keychain.get('trial')
}

/**
 * The security release of each maintained line: those of 29 July 2026
 * (nodejs.org/en/blog/vulnerability/july-2026-security-releases; HTTPS identity checks on a reused session, among
 * others), which include those of March (CVE-2026-21710: a header named `__proto__` ends the process).
 */
const patchedFloors: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [23, 2],
  24: [18, 1],
  26: [5, 1],
}

/**
 * A warning about an unmaintained or unpatched Node.js, with the remedy; undefined otherwise, and for lines newer than
 * this program knows.
 * @param version as `process.version`, e.g. `v24.21.0`
 */
export function runtimeWarning(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.replace(/^v/, '').split('.').map(Number.parseFloat)
  const floor = patchedFloors[major]
  if (floor === undefined) {
    return major > newestLine
      ? undefined
      : `Node.js ${major} no longer gets security fixes. Install Node.js ${recommended} or newer.`
  }
  const isPatched = minor > floor[0] || (minor === floor[0] && patch >= floor[1])
  return isPatched
    ? undefined
    : `Node.js ${version} has known vulnerabilities. Update to ${major}.${floor.join('.')} or newer.`
}

const newestLine = Math.max(...Object.keys(patchedFloors).map(Number))
/** The line with the longest remaining support. */
const recommended = 24

/** The message for a failed `listen`; undefined for any other error. */
export async function toListenFailure(
  context: CommandContext,
  server: Config['server'],
  error: unknown,
): Promise<CommandFailure | undefined> {
  const { host, port } = server
  const fail = (message: string) => new CommandFailure(exitCode.failed, message, { cause: error })
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return fail(await portInUse(context, server))
    case 'EACCES':
      return fail(`Permission denied to listen on port ${port}. Choose a port above 1023, e.g. --port 4141.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail(`${host} is not an address of this machine. Change --host or the setting server.host.`)
    default:
      return undefined
  }
}

/** Who listens on a port of this machine, as far as an ordinary user may know. */
export async function describePortHolder(
  context: CommandContext,
  address: { readonly host: string; readonly port: number },
): Promise<string> {
  const holder = await findPortHolder(context.fetch, address)
  return holder.kind === 'copilot-proxy' ? `copilot-proxy ${holder.version}` : listenerText(holder)
}

async function portInUse(context: CommandContext, server: Config['server']): Promise<string> {
  const { port } = server
  const holder = await findPortHolder(context.fetch, server)
  if (holder.kind !== 'copilot-proxy') {
    return `Port ${port} is in use by ${listenerText(holder)}. Choose another port with --port or the setting server.port.`
  }
  return (
    `copilot-proxy ${holder.version} is already running at ${daemonUrl(server)}` +
    `${holder.demo ? ' with --demo' : ''}. ` +
    'To start another one, choose another port with --port.'
  )
}
