import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ClientId } from '../client-settings/clients.ts'
import { providerName } from '../client-settings/target.ts'
import { judgeClients } from '../doctor/clients/client-check.ts'
import { clientFiles } from '../doctor/clients/client-files.ts'
import type { ClientHomes } from '../doctor/clients/client-files.ts'
import type { ClientSettings, OpencodeSettings } from '../doctor/clients/client-settings.ts'
import { readClientSettings } from '../doctor/clients/read-client-settings.ts'
import { findCodexHome } from './codex-home.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/** @throws CommandFailure `failed` where there is no home for it */
export async function findClientFile(context: CommandContext, client: ClientId): Promise<string> {
  const path = clientFiles(homesOf(context))[client]
  if (path === undefined) throw new CommandFailure(exitCode.failed, 'This user has no home folder: set HOME.')
  if (client !== 'opencode' || context.env['OPENCODE_CONFIG']) return path
  // opencode reads both, and goes by this one where they differ.
  const commented = `${path}c`
  return (await exists(commented)) ? commented : path
}

function exists(file: string): Promise<boolean> {
  return nodeFs.access(file).then(
    () => true,
    () => false,
  )
}

/** Variables that concern no other client. */
const variablesOf: Readonly<Record<ClientId, RegExp>> = {
  claude: /^(?!OPENAI_)/,
  codex: /^(?!ANTHROPIC_|CLAUDE_)/,
  opencode: /^(?!ANTHROPIC_|CLAUDE_|OPENAI_)/,
}

/** What is set that would keep this client from using the daemon, and what to do about it: sentences. */
export async function clientNotes(
  context: CommandContext,
  client: ClientId,
  daemon: string,
): Promise<readonly string[]> {
  const settings = await readOwnSettings(context)
  const none: Omit<ClientSettings, 'env'> = { claude: undefined, codex: undefined, opencode: undefined }
  const entries = Object.entries(context.env).filter(([name]) => variablesOf[client].test(name))
  const own = { ...none, env: Object.fromEntries(entries), [client]: settings[client] }
  if (client === 'opencode') own.opencode = withOurs(settings.opencode, daemon)
  return judgeClients(own, daemon).flatMap((finding) =>
    'fix' in finding ? [`${finding.detail}. ${finding.fix}.`] : [],
  )
}

/** As they are once our provider stands there. */
function withOurs(settings: OpencodeSettings | undefined, daemon: string): OpencodeSettings | undefined {
  if (settings === undefined || settings.providers.some(({ name }) => name === providerName)) return settings
  const ours = { path: '', name: providerName, npm: undefined, baseUrl: `${daemon}/v1` }
  return { ...settings, providers: [...settings.providers, ours] }
}

/**
 * What this user's clients are told now.
 * @param folder that a client is started in; where absent, no project is meant
 */
export async function readOwnSettings(context: CommandContext, folder?: string): Promise<ClientSettings> {
  return readClientSettings({
    ...homesOf(context),
    projectFolders: folder === undefined ? [] : await projectFolders(folder),
    readFile: (path) => nodeFs.readFile(path, 'utf8'),
  })
}

/** The folders around one, up to the root of its repository, the outermost first. */
async function projectFolders(folder: string): Promise<readonly string[]> {
  const outer = dirname(folder)
  const isRoot = outer === folder || (await exists(join(folder, '.git')))
  return isRoot ? [folder] : [...(await projectFolders(outer)), folder]
}

function homesOf(context: CommandContext): ClientHomes {
  return { env: context.env, homeDir: homeOrNone(context), codexHome: findCodexHome(context) }
}

function homeOrNone({ homeDir }: CommandContext): string | undefined {
  try {
    return homeDir()
  } catch {
    return undefined
  }
}
