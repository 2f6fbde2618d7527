import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ClientId } from '../client-settings/clients.ts'
import type { SnippetId } from '../client-settings/snippets.ts'
import type { Target } from '../client-settings/target.ts'
import type { Finding } from '../doctor/check.ts'
import { judgeClients } from '../doctor/clients/client-check.ts'
import { clientFiles } from '../doctor/clients/client-files.ts'
import type { ClientHomes } from '../doctor/clients/client-files.ts'
import type { ClientSettings } from '../doctor/clients/client-settings.ts'
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

/** A client's file as it is about to be. */
interface NextFile {
  readonly path: string
  readonly text: string
}

/**
 * What would still keep this client from using the daemon once its file is written, and what to do about it: sentences.
 * What the new text puts right is not spoken of.
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
  /** Those that are judged as they are of other clients. */
  readonly judged: RegExp
  readonly key: string
  /** Another credential that it reads. */
  readonly token?: string
}

const sdks: Partial<Readonly<Record<SnippetId, SdkVariables>>> = {
  'openai-sdk': { judged: /^(?!ANTHROPIC_|CLAUDE_)/, key: 'OPENAI_API_KEY' },
  // Most of Anthropic's variables, and what is said of two credentials, concern Claude Code alone.
  'anthropic-sdk': {
    judged: /^(?!OPENAI_|CLAUDE_|ANTHROPIC_(?!BASE_URL$))/,
    key: 'ANTHROPIC_API_KEY',
    token: 'ANTHROPIC_AUTH_TOKEN',
  },
}

/** What in the environment would keep a program with this SDK from using the daemon: sentences. None for no SDK. */
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
  // Where no key is asked for, any will do; where ours is not known, theirs may be it.
  const isKeyWrong = target.isKeyAsked && target.key !== '' && isForeign(key)
  const wrongKey = `${key} is not the key that setup knows, and copilot-proxy asks for one of its own`
  // The SDKs differ, also by version: @anthropic-ai/sdk 1.11 takes the key and warns.
  const twoKeys = `${token} is set: beside ${key}, the SDKs take one of them or send both`
  return [
    ...(isKeyWrong ? [`${wrongKey}. Set ${key} to a key of copilot-proxy.`] : []),
    ...(token !== undefined && isForeign(token) ? [`${twoKeys}. Unset ${token}.`] : []),
  ]
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
