import { claudeDetours } from '../../client-settings/claude.ts'
import { isLoopbackHost } from '../../config/loopback.ts'
import { findingsOr, ok } from '../doctor/check.ts'
import type { Finding, Findings } from '../doctor/check.ts'
import { isExempt } from '../doctor/probe.ts'
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
 * @param daemon undefined where the configuration is invalid: addresses are not judged then
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
      ? warn(
          `Claude Code passes over ${claude.path}, which is no plain JSON`,
          'Make it plain JSON: no comments, no last commas',
        )
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
  return findingsOr(findings, ok('Nothing is set that would go past copilot-proxy'))
}

const anthropicUrls = ['ANTHROPIC_BASE_URL']
const openaiUrls = ['OPENAI_BASE_URL', 'OPENAI_API_BASE']

function warn(detail: string, fix: string): readonly Finding[] {
  return [{ status: 'warning', detail, fix }]
}

function setTo(name: string, value: string, file: string | undefined): string {
  return file === undefined ? `Set ${name}=${value}` : `Set env.${name} to ${value} in ${file}`
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
    `${placeOf(key)} is set beside ANTHROPIC_AUTH_TOKEN: Claude Code takes one of them, and not always the one you mean`,
    unset(key),
  )
}

function judgeCloud(variable: Variable | undefined): readonly Finding[] {
  if (variable === undefined || /^(?:0|false|no|off)$/i.test(variable.value)) return []
  return warn(`${placeOf(variable)} sends Claude Code to another service, past copilot-proxy`, unset(variable))
}

/** Anthropic's clients add `/v1/messages` themselves. */
function judgeAnthropicUrl(variable: Variable | undefined, daemon: DaemonUrl): readonly Finding[] {
  if (variable === undefined) return []
  const { name, value, file } = variable
  const fix = setTo(name, daemon, file)
  const url = URL.parse(value)
  if (url === null) return warn(`${placeOf(variable)} is not an address`, fix)
  if (!leadsTo(url, daemon)) {
    const who = file === undefined ? 'Anthropic’s clients' : 'Claude Code'
    return warn(`${placeOf(variable)} leads ${who} to ${url.host}, past copilot-proxy`, fix)
  }
  if (url.protocol === 'https:') return warn(`${placeOf(variable)} says https; copilot-proxy speaks http`, fix)
  return /\/v1\/*$/.test(url.pathname)
    ? warn(`${placeOf(variable)} ends in /v1, which Anthropic’s clients add themselves`, fix)
    : []
}

function judgeOpenaiUrl(value: string | undefined, name: string, daemon: DaemonUrl): readonly Finding[] {
  if (value === undefined || value === '') return []
  const fix = setTo(name, `${daemon}/v1`, undefined)
  const url = URL.parse(value)
  if (url === null) return warn(`${name} is not an address`, fix)
  if (!leadsTo(url, daemon)) return warn(`${name} leads OpenAI’s clients to ${url.host}, past copilot-proxy`, fix)
  return url.protocol === 'https:' ? warn(`${name} says https; copilot-proxy speaks http`, fix) : []
}

function judgeCodexCli(
  { path, provider, baseUrl, envKey }: CodexCliSettings,
  env: ClientSettings['env'],
  daemon: DaemonUrl,
): readonly Finding[] {
  if (baseUrl === undefined) return []
  const key = `model_providers.${provider}.base_url`
  const fix = `Set ${key} to ${daemon}/v1 in ${path}`
  const url = URL.parse(baseUrl)
  if (url === null) return warn(`${key} in ${path} is not an address`, fix)
  if (!leadsTo(url, daemon)) return warn(`${key} in ${path} leads Codex CLI to ${url.host}, past copilot-proxy`, fix)
  if (url.protocol === 'https:') return warn(`${key} in ${path} says https; copilot-proxy speaks http`, fix)
  return envKey !== undefined && !env[envKey]
    ? warn(
        `Codex CLI wants a key in ${envKey} for its provider ${provider} (${path}), and none is set`,
        `Set ${envKey} to a key of copilot-proxy, or to any text if it asks for none`,
      )
    : []
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
    return warn(
      `disabled_providers in ${disabled.path} names ${name}: opencode ignores it`,
      `Remove ${name} from that list`,
    )
  }
  if (enabled?.names.includes(name) === false) {
    return warn(
      `enabled_providers in ${enabled.path} does not name ${name}: opencode ignores what is not there`,
      `Add ${name} to that list`,
    )
  }
  const fix = `Set provider.${name}.options.baseURL to ${daemon}/v1 in ${path}`
  if (url.protocol === 'https:') return warn(`Provider ${name} in ${path} says https; copilot-proxy speaks http`, fix)
  const isAnthropic = npm === '@ai-sdk/anthropic' || (npm === undefined && name === 'anthropic')
  return isAnthropic && !/\/v1\/*$/.test(url.pathname)
    ? warn(`The address of provider ${name} in ${path} lacks /v1, which opencode does not add`, fix)
    : []
}

/** Many clients send even loopback requests through a proxy, unless NO_PROXY exempts them. */
function judgeProxyExemption(env: ClientSettings['env'], daemon: DaemonUrl): readonly Finding[] {
  const names = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY']
  const name = names.find((candidate) => (env[candidate] ?? '').trim() !== '')
  const url = new URL(daemon)
  if (name === undefined || isExempt(url, env)) return []
  const exemptions = [env['no_proxy'] ?? env['NO_PROXY'], '127.0.0.1', 'localhost'].filter(Boolean)
  return warn(
    `${name} is set and NO_PROXY does not name ${url.hostname}: clients may look for copilot-proxy at that proxy`,
    `Set NO_PROXY=${exemptions.join(',')}`,
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
