import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { claudeDetours } from '../../client-settings/claude.ts'
import type { FileClientId, Target } from '../../client-settings/target.ts'
import type { SnippetId } from '../../client-settings/snippets.ts'
import { isLoopbackHost } from '../../config/loopback.ts'
import { failed, findingsOr, ok } from '../doctor/check.ts'
import type { Finding, Findings } from '../doctor/check.ts'
import { findProxyVariable, isExempt, readExemptions } from '../../config/proxy-variables.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { clientFiles, homesOf, readClientSettings } from './client-settings.ts'
import type { ClientSettings, CodexCliSettings, OpencodeProvider, OpencodeSettings } from './client-settings.ts'

/** Base URL of the daemon, e.g. `http://127.0.0.1:4141`. */
type DaemonUrl = string

/** An environment variable, and the file that sets it. */
interface Variable {
  readonly name: string
  readonly value: string
  /** Undefined: in the environment. */
  readonly file: string | undefined
}

/**
 * Findings about settings of Claude Code, Codex CLI, opencode and the SDKs that bypass the proxy or fail with it.
 * Absent settings are not mentioned; keys are never repeated.
 * @param daemon undefined if the configuration is invalid: addresses are not judged then
 */
export function judgeClients(settings: ClientSettings, daemon: DaemonUrl | undefined): Findings {
  const { env, claude, codex, opencode } = settings
  const variableOf = (name: string): Variable | undefined => {
    const inFile = claude?.env[name]
    const value = inFile ?? env[name]
    return value === undefined || value === ''
      ? undefined
      : { name, value, file: inFile === undefined ? undefined : claude?.path }
  }
  const findings = [
    ...(claude?.isPassedOver === true
      ? warn(`Claude Code ignores ${claude.path}, because it is not plain JSON`, 'Remove comments and trailing commas')
      : []),
    ...judgeKeys(variableOf),
    ...claudeDetours.flatMap((name) => judgeCloud(variableOf(name))),
    ...(daemon === undefined
      ? []
      : [
          ...anthropicUrls.flatMap((name) => judgeAnthropicUrl(variableOf(name), daemon)),
          ...openaiUrls.flatMap((name) => judgeOpenaiUrl(env[name], name, daemon)),
          ...(codex === undefined ? [] : judgeCodexCli(codex, env, daemon)),
          ...(opencode?.providers.flatMap((provider) => judgeOpencode(provider, opencode, daemon)) ?? []),
          ...judgeProxyExemption(env, daemon),
        ]),
  ]
  return findingsOr(findings, ok('No settings bypass copilot-proxy'))
}

/** A finding if clients are set up for a daemon that is not running: they can only say that the connection was refused. */
export function judgeIdle({ env, claude, codex, opencode }: ClientSettings, daemon: DaemonUrl): readonly Finding[] {
  const used: readonly (readonly [client: string, urls: readonly (string | undefined)[]])[] = [
    ['Claude Code', [claude?.env['ANTHROPIC_BASE_URL'] ?? env['ANTHROPIC_BASE_URL']]],
    ['Codex CLI', [codex?.baseUrl]],
    ['opencode', opencode?.providers.map(({ baseUrl }) => baseUrl) ?? []],
  ]
  const isOurs = (value: string | undefined): boolean => {
    const url = URL.parse(value ?? '')
    return url !== null && leadsTo(url, daemon)
  }
  const clients = used.flatMap(([client, urls]) => (urls.some(isOurs) ? [client] : []))
  if (clients.length === 0) return []
  return warn(
    `copilot-proxy is not running, and these clients are set up to use it: ${clients.join(', ')}`,
    'Run: copilot-proxy start (to start it with your session: copilot-proxy service install)',
  )
}

const anthropicUrls = ['ANTHROPIC_BASE_URL']
const openaiUrls = ['OPENAI_BASE_URL', 'OPENAI_API_BASE']

function warn(detail: string, fix: string): readonly Finding[] {
  return [{ status: 'warning', detail, fix }]
}

function unset({ name, file }: Variable): string {
  return file === undefined ? `Unset ${name}` : `Remove env.${name} from ${file}`
}

function placeOf({ name, file }: Variable): string {
  return file === undefined ? name : `${name} in ${file}`
}

function judgeKeys(variableOf: (name: string) => Variable | undefined): readonly Finding[] {
  const key = variableOf('ANTHROPIC_API_KEY')
  if (key === undefined || variableOf('ANTHROPIC_AUTH_TOKEN') === undefined) return []
  return warn(
    `${placeOf(key)} and ANTHROPIC_AUTH_TOKEN are both set, and Claude Code may use the wrong one`,
    unset(key),
  )
}

function judgeCloud(variable: Variable | undefined): readonly Finding[] {
  if (variable === undefined || /^(?:0|false|no|off)$/i.test(variable.value)) return []
  return warn(`${placeOf(variable)} makes Claude Code use another service instead of copilot-proxy`, unset(variable))
}

/**
 * Findings if an address does not lead to the daemon.
 * @param place the setting, as a sentence names it
 * @param who the clients that use it
 */
function judgeUrl(value: string, daemon: DaemonUrl, place: string, who: string, fix: string): readonly Finding[] {
  const url = URL.parse(value)
  if (url === null) return warn(`${place} is not a URL`, fix)
  if (!leadsTo(url, daemon)) return warn(`${place} sends ${who} to ${url.host} instead of copilot-proxy`, fix)
  return url.protocol === 'https:' ? warn(`${place} uses https, but copilot-proxy uses http`, fix) : []
}

/** Anthropic's clients add `/v1/messages` themselves. */
function judgeAnthropicUrl(variable: Variable | undefined, daemon: DaemonUrl): readonly Finding[] {
  if (variable === undefined) return []
  const { name, value, file } = variable
  const place = placeOf(variable)
  const fix = file === undefined ? `Set ${name}=${daemon}` : `Set env.${name} to ${daemon} in ${file}`
  const who = file === undefined ? 'Anthropic’s clients' : 'Claude Code'
  const findings = judgeUrl(value, daemon, place, who, fix)
  if (findings.length > 0) return findings
  return endsInV1(value) ? warn(`${place} ends in /v1, but Anthropic’s clients add /v1 themselves`, fix) : []
}

function endsInV1(address: string): boolean {
  return /\/v1\/*$/.test(new URL(address).pathname)
}

function judgeOpenaiUrl(value: string | undefined, name: string, daemon: DaemonUrl): readonly Finding[] {
  return value ? judgeUrl(value, daemon, name, 'OpenAI’s clients', `Set ${name}=${daemon}/v1`) : []
}

function judgeCodexCli(
  { path, provider, baseUrl, envKey }: CodexCliSettings,
  env: ClientSettings['env'],
  daemon: DaemonUrl,
): readonly Finding[] {
  if (baseUrl === undefined) return []
  const key = `model_providers.${provider}.base_url`
  const findings = judgeUrl(baseUrl, daemon, `${key} in ${path}`, 'Codex CLI', `Set ${key} to ${daemon}/v1 in ${path}`)
  if (findings.length > 0 || envKey === undefined || env[envKey]) return findings
  return warn(
    `Codex CLI needs a key in ${envKey} for its provider ${provider} (${path}), but ${envKey} is not set`,
    `Set ${envKey} to a key of copilot-proxy, or to any text if no key is required`,
  )
}

/** Undefined if Codex CLI takes its catalogue, or has none. Otherwise it does not start at all. */
export function judgeCatalogue(codex: CodexCliSettings | undefined, problem: string | undefined): Findings | undefined {
  if (codex?.catalogue === undefined || problem === undefined) return undefined
  const detail = `Codex CLI cannot start: ${codex.catalogue}, which model_catalog_json in ${codex.path} names, ${problem}`
  return failed(detail, 'Run: copilot-proxy setup codex')
}

/** The file may hold providers of other services; only those that point to the daemon are judged. */
function judgeOpencode(
  { path, name, npm, baseUrl }: OpencodeProvider,
  { enabled, disabled }: OpencodeSettings,
  daemon: DaemonUrl,
): readonly Finding[] {
  const url = URL.parse(baseUrl)
  if (url === null || !leadsTo(url, daemon)) return []
  if (disabled?.names.includes(name) === true) {
    return warn(`disabled_providers in ${disabled.path} turns off ${name}`, `Remove ${name} from that list`)
  }
  if (enabled?.names.includes(name) === false) {
    return warn(
      `enabled_providers in ${enabled.path} turns off ${name}, because it is not in the list`,
      `Add ${name} to that list`,
    )
  }
  const fix = `Set provider.${name}.options.baseURL to ${daemon}/v1 in ${path}`
  if (url.protocol === 'https:') return warn(`Provider ${name} in ${path} uses https, but copilot-proxy uses http`, fix)
  const isAnthropic = npm === '@ai-sdk/anthropic' || (npm === undefined && name === 'anthropic')
  return isAnthropic && !endsInV1(baseUrl)
    ? warn(`The baseURL of provider ${name} in ${path} must end in /v1`, fix)
    : []
}

/** Many clients send even loopback requests through a proxy, unless NO_PROXY exempts them. */
function judgeProxyExemption(env: ClientSettings['env'], daemon: DaemonUrl): readonly Finding[] {
  const name = findProxyVariable(env, ['http', 'all'])
  const url = new URL(daemon)
  if (name === undefined || isExempt(url, env)) return []
  const { variable, entries } = readExemptions(env)
  return warn(
    `${name} is set, but ${variable} does not include ${url.hostname}, so clients may send requests for copilot-proxy to that proxy`,
    `Set ${variable}=${[...entries, '127.0.0.1', 'localhost'].join(',')}`,
  )
}

/** Any loopback name reaches a daemon on loopback. */
function leadsTo(url: URL, daemon: DaemonUrl): boolean {
  const daemonUrl = new URL(daemon)
  const isSameHost =
    url.hostname === daemonUrl.hostname || (isLoopbackHost(url.hostname) && isLoopbackHost(daemonUrl.hostname))
  // Port 0 differs at each start, so any port may be right.
  return isSameHost && (daemonUrl.port === '0' || url.port === daemonUrl.port)
}

/** @throws CommandFailure `failed` without a home folder */
export async function findClientFile(
  context: CommandContext,
  client: FileClientId,
  filesOf: typeof clientFiles = clientFiles,
): Promise<string> {
  const path = filesOf(homesOf(context))[client]
  if (path === undefined) throw new CommandFailure(exitCode.failed, 'You have no home folder. Set HOME.')
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
const variablesOf: Readonly<Record<FileClientId, RegExp>> = {
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
 * Returns sentences about everything that will keep this client from using the daemon once its file is written, with
 * the remedies. The new text is judged in place of the old one.
 */
export async function clientNotes(
  context: CommandContext,
  client: FileClientId,
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
 * Returns sentences about variables that keep a program with this SDK from using the daemon. Empty for clients without
 * SDK.
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
  const wrongKey = `${key} is not the key in the configuration of copilot-proxy`
  // SDKs differ, also by version: @anthropic-ai/sdk 1.11 takes the key and warns.
  const twoKeys = `${token} and ${key} are both set, and the SDKs may use the wrong one`
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
