import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ClientId } from '../../client-settings/clients.ts'
import type { SnippetId } from '../../client-settings/snippets.ts'
import type { Target } from '../../client-settings/target.ts'
import type { Finding } from '../doctor/check.ts'
import { findCodexHome } from '../shared/codex-login.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { judgeClients } from './client-check.ts'
import { clientFiles, readClientSettings } from './client-settings.ts'
import type { ClientHomes, ClientSettings } from './client-settings.ts'

/** @throws CommandFailure `failed` without a home folder */
export async function findClientFile(context: CommandContext, client: ClientId): Promise<string> {
  const path = clientFiles(homesOf(context))[client]
  if (path === undefined) throw new CommandFailure(exitCode.failed, 'This user has no home folder: set HOME.')
  if (client !== 'opencode' || context.env['OPENCODE_CONFIG']) return path
  // opencode reads both files, and this one takes precedence.
  const commented = `${path}c`
  return (await exists(commented)) ? commented : path
}

function exists(file: string): Promise<boolean> {
  return nodeFs.access(file).then(
    () => true,
    () => false,
  )
}

/** Environment variables that may concern this client. */
const variablesOf: Readonly<Record<ClientId, RegExp>> = {
  claude: /^(?!OPENAI_)/,
  codex: /^(?!ANTHROPIC_|CLAUDE_)/,
  opencode: /^(?!ANTHROPIC_|CLAUDE_|OPENAI_)/,
}

/** The client's file after setup. */
interface NextFile {
  readonly path: string
  readonly text: string
}

/**
 * What would keep this client from using the daemon after its file is written, with the remedies: sentences. The new
 * text is judged in place of the old one.
 */
export async function clientNotes(
  context: CommandContext,
  client: ClientId,
  daemon: string,
  next: NextFile,
): Promise<readonly string[]> {
  const settings = await readClientSettings({
    ...homesOf(context),
    readFile: (path) => (path === next.path ? Promise.resolve(next.text) : nodeFs.readFile(path, 'utf8')),
  })
  const env = pick(context.env, variablesOf[client])
  return toNotes(judgeClients({ ...noSettings, env, [client]: settings[client] }, daemon))
}

const noSettings: ClientSettings = { env: {}, claude: undefined, codex: undefined, opencode: undefined }

function pick(env: CommandContext['env'], pattern: RegExp): CommandContext['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => pattern.test(name)))
}

function toNotes(findings: readonly Finding[]): readonly string[] {
  return findings.flatMap((finding) => ('fix' in finding ? [`${finding.detail}. ${finding.fix}.`] : []))
}

interface SdkVariables {
  /** Variables that are judged as for other clients. */
  readonly judged: RegExp
  readonly key: string
  /** Another credential that the SDK reads. */
  readonly token?: string
}

const sdks: Partial<Readonly<Record<SnippetId, SdkVariables>>> = {
  'openai-sdk': { judged: /^(?!ANTHROPIC_|CLAUDE_)/, key: 'OPENAI_API_KEY' },
  // Most of Anthropic's variables, and the conflict of two credentials, concern Claude Code alone.
  'anthropic-sdk': {
    judged: /^(?!OPENAI_|CLAUDE_|ANTHROPIC_(?!BASE_URL$))/,
    key: 'ANTHROPIC_API_KEY',
    token: 'ANTHROPIC_AUTH_TOKEN',
  },
}

/**
 * What in the environment would keep a program with this SDK from using the daemon: sentences. Empty for clients
 * without SDK.
 */
export function sdkNotes({ env }: CommandContext, client: SnippetId, target: Target): readonly string[] {
  const sdk = sdks[client]
  if (sdk === undefined) return []
  return [
    ...toNotes(judgeClients({ ...noSettings, env: pick(env, sdk.judged) }, target.url)),
    ...keyNotes(sdk, env, target),
  ]
}

function keyNotes({ key, token }: SdkVariables, env: CommandContext['env'], target: Target): readonly string[] {
  const isForeign = (name: string): boolean => Boolean(env[name]) && env[name] !== target.key
  // Without a required key any text works; if our key is unknown, theirs may be it.
  const isKeyWrong = target.isKeyAsked && target.key !== '' && isForeign(key)
  const wrongKey = `${key} is not the key that setup knows, and copilot-proxy asks for one of its own`
  // SDKs differ, also by version: @anthropic-ai/sdk 1.11 takes the key and warns.
  const twoKeys = `${token} is set: beside ${key}, the SDKs take one of them or send both`
  return [
    ...(isKeyWrong ? [`${wrongKey}. Set ${key} to a key of copilot-proxy.`] : []),
    ...(token !== undefined && isForeign(token) ? [`${twoKeys}. Unset ${token}.`] : []),
  ]
}

/**
 * Settings of this user's clients.
 * @param folder where a client is started; undefined: without project settings
 */
export async function readUserSettings(context: CommandContext, folder?: string): Promise<ClientSettings> {
  return readClientSettings({
    ...homesOf(context),
    projectFolders: folder === undefined ? [] : await projectFolders(folder),
    readFile: (path) => nodeFs.readFile(path, 'utf8'),
  })
}

/** The folders from the root of the repository to this one. */
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
