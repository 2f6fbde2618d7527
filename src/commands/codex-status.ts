import { join } from 'node:path'
import { accessLife } from '../auth/codex/access-life.ts'
import { createCliLoginSource } from '../auth/codex/cli-login.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import { Fault } from '../errors.ts'
import type { Style } from '../terminal/style.ts'
import { visible } from '../terminal/visible.ts'
import { quietLog } from './account.ts'
import { findCodexRecord, openCodexRecords } from './codex-account.ts'
import { findCodexHome } from './codex-home.ts'
import type { CommandContext } from './context.ts'
import type { LoadedSettings } from './settings.ts'

/** The login that Codex requests are made with, as this machine knows it without asking anybody. */
export type CodexState =
  /** `codex.enabled` is false. */
  | { readonly kind: 'off' }
  /** `detail` says what to do about it. */
  | { readonly kind: 'nobody'; readonly detail: string }
  /** Not known; a sentence that names the file. */
  | { readonly kind: 'problem'; readonly problem: string }
  | { readonly kind: 'api-key' }
  | CodexLogin

interface CodexLogin {
  readonly kind: 'login' | 'codex-cli'
  readonly account: string
  /** In OpenAI's own word. */
  readonly plan: string | undefined
  readonly location: string
  /** Ms since epoch; Infinity where nothing tells. */
  readonly untilMs: number
}

/** Never throws for what is wrong with a stored login. */
export async function readCodexState(context: CommandContext, settings: LoadedSettings): Promise<CodexState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off' }
  if (apiKey !== '') return { kind: 'api-key' }
  return useCliLogin ? readCliState(context) : readOwnState(context, settings)
}

async function readOwnState(context: CommandContext, settings: LoadedSettings): Promise<CodexState> {
  try {
    const record = await findCodexRecord(context, settings)
    if (record === undefined) return { kind: 'nobody', detail: 'nobody; log in with: copilot-proxy login codex' }
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
    return { kind: 'problem', problem: 'The folder of Codex CLI is not known: set CODEX_HOME to an absolute path' }
  }
  const sleep = (ms: number): Promise<void> => context.sleep(ms, signal).catch(() => {})
  // What is wrong is in its status too.
  const source = createCliLoginSource({ now, monotonicMs: now, sleep, log: quietLog }, { codexHome })
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
      case 'starting':
      case 'unreachable':
      case 'unreadable':
        return { kind: 'problem', problem: `${location}: ${detail}. ${fix}` }
    }
  } finally {
    await source.close()
  }
}

/** Whether there is something to make Codex requests with. */
export function hasCodexLogin({ kind }: CodexState): boolean {
  return kind === 'login' || kind === 'codex-cli' || kind === 'api-key'
}

/** Lines for people, label first. */
export function codexLines(
  state: CodexState,
  style: Style,
  nowMs: number,
): readonly (readonly [label: string, value: string])[] {
  switch (state.kind) {
    case 'off':
      return [['Codex login', 'off; codex.enabled is false']]
    case 'nobody':
      return [['Codex login', style.yellow(state.detail)]]
    case 'problem':
      return [['Codex login', style.red(visible(state.problem))]]
    case 'api-key':
      return [['Codex login', 'the API key in codex.api-key']]
    case 'login':
    case 'codex-cli':
      return [
        ['Codex login', describeLogin(state)],
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
    return kind === 'login'
      ? 'expired; the next request renews it'
      : 'expired; start codex once, which renews it (nothing here does)'
  }
  const life = untilMs === Infinity ? 'good until OpenAI refuses it' : `good for ${lengthOf(untilMs - nowMs)}`
  return `${life}; ${kind === 'login' ? 'renewed by itself' : 'renewed by Codex CLI alone'}`
}

/** In the largest unit that leaves more than one of it. */
function lengthOf(ms: number): string {
  const minutes = Math.ceil(ms / 60_000)
  if (minutes < 120) return `${minutes} more minutes`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} more hours` : `${Math.floor(hours / 24)} more days`
}

/** The same as JSON. */
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
