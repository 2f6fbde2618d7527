import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../http-json.ts'
import { RecordStoreError } from './record-fs.ts'

/** Small secrets by name, kept by the system. Every call ends: the system's has a time limit. */
export interface Keychain {
  /** Undefined when there is no such entry. @throws RecordStoreError `keychain`, as all of them */
  readonly get: (entry: string) => Promise<string | undefined>
  readonly set: (entry: string, secret: string) => Promise<void>
  /** False when there was none. */
  readonly remove: (entry: string) => Promise<boolean>
}

/** Why a keychain does not do what it is asked to. */
export type KeychainReason =
  /** There is none for this process, or no library for it on this machine. */
  | 'absent'
  | 'locked'
  /** No answer in time. */
  | 'silent'
  /** It refused: full, say. */
  | 'refused'

/** What `keychain-helper.ts` is asked, as JSON on its standard input. */
export const keychainQuestion = z.discriminatedUnion('do', [
  z.object({ do: z.literal('get'), entry: z.string() }),
  z.object({ do: z.literal('set'), entry: z.string(), secret: z.string() }),
  z.object({ do: z.literal('remove'), entry: z.string() }),
])
export type KeychainQuestion = z.infer<typeof keychainQuestion>

/** What it answers, as JSON on its standard output. */
const keychainAnswer = z.union([
  z.object({ found: z.boolean(), secret: z.string().optional() }),
  z.object({
    reason: z.enum(['absent', 'locked', 'refused'] satisfies readonly KeychainReason[]),
    /** The library's message; holds no secret. */
    words: z.string(),
  }),
])
export type KeychainAnswer = z.infer<typeof keychainAnswer>

/** A keychain that asks the user to unlock it never answers where nobody sits. Ms. */
const TIMEOUT_MS = 3_000

/** Where the user's session and its keychain are found; everything else, tokens among it, stays out of the child. */
const passedVariables = [
  'APPDATA',
  'DBUS_SESSION_BUS_ADDRESS',
  'DISPLAY',
  'HOME',
  'LANG',
  'LOCALAPPDATA',
  'SystemRoot',
  'TEMP',
  'USERPROFILE',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'XDG_RUNTIME_DIR',
]

export interface SystemKeychainOptions {
  /** Of the user's session. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The script that is asked, for tests. */
  readonly helper?: string
  /** Ms. */
  readonly timeoutMs?: number
}

/**
 * The keychain of the system: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux.
 *
 * Each call is a process of its own. The library's calls cannot be cancelled: in this process one that hangs would hold
 * a thread that files need too, and keep the process from ending. A child can be killed.
 */
export function createSystemKeychain({
  env,
  helper = helperFile,
  timeoutMs = TIMEOUT_MS,
}: SystemKeychainOptions): Keychain {
  const childEnv = Object.fromEntries(passedVariables.map((name) => [name, env[name]]))

  const ask = async (question: KeychainQuestion): Promise<Extract<KeychainAnswer, { found: boolean }>> => {
    const text = await askChild(helper, childEnv, timeoutMs, JSON.stringify(question))
    const answer = keychainAnswer.safeParse(text === undefined ? undefined : parseJson(text))
    if (!answer.success) throw keychainError(text === undefined ? 'silent' : 'absent', '')
    if ('reason' in answer.data) throw keychainError(answer.data.reason, answer.data.words)
    return answer.data
  }

  return {
    get: async (entry) => (await ask({ do: 'get', entry })).secret,
    set: async (entry, secret) => void (await ask({ do: 'set', entry, secret })),
    remove: async (entry) => (await ask({ do: 'remove', entry })).found,
  }
}

/** Beside this file, in the sources and in what is built from them. */
const helperFile = fileURLToPath(new URL(`keychain-helper${extname(import.meta.url)}`, import.meta.url))

/** What the helper wrote; undefined if its time limit passed. */
function askChild(
  helper: string,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
  question: string,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The secret goes through pipes: what is on a command line or in an environment others can read.
    const child = spawn(execPath, [helper], { env, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true })
    let text = ''
    const timer = setTimeout(() => {
      resolve(undefined)
      child.kill('SIGKILL')
    }, timeoutMs)
    const end = (): void => {
      clearTimeout(timer)
      resolve(text)
    }
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    child.once('close', end)
    child.once('error', end)
    // It may have ended before it reads.
    child.stdin.on('error', () => {})
    child.stdin.end(question)
  })
}

/** For callers of the daemon, who learn no more about this machine. */
export const keychainDetail = 'The keychain, which the login is sealed with, cannot be used'
export const keychainFix = 'Unlock it; the log of copilot-proxy says what is wrong'

const reasons: Readonly<Record<KeychainReason, { readonly sentence: string; readonly remedy: string }>> = {
  absent: { sentence: 'there is none here', remedy: 'Start one' },
  locked: { sentence: 'it is locked, or not set up', remedy: 'Unlock it' },
  silent: { sentence: 'it did not answer; it may be locked and waiting for its password', remedy: 'Unlock it' },
  refused: { sentence: 'it refused', remedy: 'Make room in it' },
}

/** @param words the system's own */
export function keychainError(reason: KeychainReason, words: string): RecordStoreError {
  const { sentence, remedy } = reasons[reason]
  const said = words === '' ? '' : ` (${words.slice(0, 200)})`
  return new RecordStoreError(
    'keychain',
    `The keychain that auth.store: keychain needs cannot be used: ${sentence}${said}. ` +
      `${remedy} and try again, or keep logins in files with auth.store: file`,
  )
}
