import { join } from 'node:path'
import { accessLife } from '../../auth/codex/record.ts'
import { createCliLoginSource } from '../../auth/codex/cli-login.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { Fault } from '../../errors.ts'
import type { ProviderId } from '../../executors/executor.ts'
import type { Style } from '../../terminal/output.ts'
import { visible } from '../../terminal/visible.ts'
import { silentLog, findCodexRecord, openCodexRecords, findLogin } from './accounts.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { findCodexHome, type LoadedSettings } from './settings.ts'

/** The login of Codex requests, from local files only. */
export type CodexState =
  /** `codex.enabled` is false. */
  | { readonly kind: 'off' }
  /** `detail` names the remedy. */
  | { readonly kind: 'nobody'; readonly detail: string }
  /** A sentence that names the unreadable file. */
  | { readonly kind: 'problem'; readonly problem: string }
  | { readonly kind: 'api-key' }
  | CodexLogin

interface CodexLogin {
  readonly kind: 'login' | 'codex-cli'
  readonly account: string
  /** OpenAI's identifier. */
  readonly plan: string | undefined
  readonly location: string
  /** Ms since epoch; Infinity if unknown. */
  readonly untilMs: number
}

/** Does not throw for an unusable stored login. */
export async function readCodexState(context: CommandContext, settings: LoadedSettings): Promise<CodexState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off' }
  if (apiKey !== '') return { kind: 'api-key' }
  return useCliLogin ? readCliState(context) : readStoredState(context, settings)
}

async function readStoredState(context: CommandContext, settings: LoadedSettings): Promise<CodexState> {
  try {
    const record = await findCodexRecord(context, settings)
    if (record === undefined) return { kind: 'nobody', detail: 'not logged in. Run: copilot-proxy login codex' }
    const nowMs = context.now()
    return {
      kind: 'login',
      account: record.label,
      plan: record.metadata.plan,
      location: openCodexRecords(context, settings).locationOf(record.id),
      untilMs: nowMs + accessLife(record, 0, { wallMs: nowMs, monotonicMs: 0 }).expiresAfterMs,
    }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { kind: 'problem', problem: error.message }
  }
}

async function readCliState(context: CommandContext): Promise<CodexState> {
  const { now, signal } = context
  const codexHome = findCodexHome(context)
  if (codexHome === undefined) {
    return { kind: 'problem', problem: 'The folder of Codex CLI is unknown. Set CODEX_HOME to an absolute path' }
  }
  const sleep = (ms: number): Promise<void> => context.sleep(ms, signal).catch(() => {})
  // The status of the source reports the same failure.
  const source = createCliLoginSource({ now, monotonicMs: now, sleep, log: silentLog }, { codexHome })
  try {
    await source.get(signal).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
    })
    const location = join(codexHome, 'auth.json')
    const { state, detail, fix, email, recordId = '', plan, expiresAtMs = Infinity } = source.status()
    switch (state) {
      case 'ok':
      case 'expired':
        return { kind: 'codex-cli', account: email ?? recordId, plan, location, untilMs: expiresAtMs }
      case 'login_required':
        return { kind: 'nobody', detail: `${detail}. ${fix}` }
      default:
        return { kind: 'problem', problem: `${location}: ${detail}. ${fix}` }
    }
  } finally {
    await source.close()
  }
}

export function hasCodexLogin({ kind }: CodexState): boolean {
  return kind === 'login' || kind === 'codex-cli' || kind === 'api-key'
}

/** Lines for `formatPairs`. */
export function codexLines(
  state: CodexState,
  style: Style,
  nowMs: number,
): readonly (readonly [label: string, value: string])[] {
  switch (state.kind) {
    case 'off':
      return [['Codex', 'off (codex.enabled: false)']]
    case 'nobody':
      return [['Codex', style.yellow(visible(state.detail))]]
    case 'problem':
      return [['Codex', style.red(visible(state.problem))]]
    case 'api-key':
      return [['Codex', 'API key from codex.api-key']]
    case 'login':
    case 'codex-cli':
      return [
        ['Codex', describeLogin(state)],
        ['Codex token', describeToken(state, nowMs)],
        [state.kind === 'login' ? 'Stored in' : 'Read from', visible(state.location)],
      ]
  }
}

function describeLogin({ kind, account, plan }: CodexLogin): string {
  const ofPlan = plan === undefined ? '' : `, ChatGPT plan ${plan}`
  return visible(`${account}${ofPlan}${kind === 'codex-cli' ? ' (login of Codex CLI, read-only)' : ''}`)
}

function describeToken({ kind, untilMs }: CodexLogin, nowMs: number): string {
  if (untilMs <= nowMs) {
    return kind === 'login' ? 'expired; the next request renews it' : 'expired. Start codex once to renew it'
  }
  const life = untilMs === Infinity ? 'valid until OpenAI revokes it' : `valid for ${lengthOf(untilMs - nowMs)}`
  return `${life}, then renewed ${kind === 'login' ? 'automatically' : 'by Codex CLI'}`
}

/** In the largest unit of which there are at least two. */
function lengthOf(ms: number): string {
  const minutes = Math.ceil(ms / 60_000)
  if (minutes < 120) return `${minutes} minutes`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
}

export function codexDocument(state: CodexState, nowMs: number): object {
  const isLogin = state.kind === 'login' || state.kind === 'codex-cli'
  return {
    enabled: state.kind !== 'off',
    login: isLogin
      ? {
          source: state.kind === 'login' ? 'record' : 'codex-cli',
          account: state.account,
          plan: state.plan ?? null,
          record: state.location,
        }
      : state.kind === 'api-key'
        ? { source: 'api-key', account: null, plan: null, record: null }
        : null,
    problem: state.kind === 'problem' ? state.problem : null,
    token: isLogin
      ? {
          state: state.untilMs > nowMs ? 'usable' : 'expired',
          expires_at: state.untilMs > nowMs && state.untilMs < Infinity ? new Date(state.untilMs).toISOString() : null,
        }
      : { state: 'none', expires_at: null },
  }
}

/** @throws CommandFailure `failed`, RecordStoreError */
export async function findLogins(context: CommandContext, settings: LoadedSettings): Promise<readonly ProviderId[]> {
  const login = await findLogin(context, settings)
  const codex = await readCodexState(context, settings)
  // A Copilot login is enough to serve, even if the Codex login cannot be read.
  if (login === undefined && codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.problem)
  return [...(login === undefined ? [] : (['copilot'] as const)), ...(hasCodexLogin(codex) ? (['codex'] as const) : [])]
}
