import { spawn } from 'node:child_process'
import { extname } from 'node:path'
import { execPath } from 'node:process'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { RecordStoreError } from './record-fs.ts'
import { parseJson } from '../../json/json.ts'

/** Small secrets by name, in the system's keychain. Every call ends, because the system's call has a time limit. */
export interface Keychain {
  /**
   * Undefined if there is no such entry.
   * @throws RecordStoreError `keychain`, as all of them
   */
  readonly get: (entry: string) => Promise<string | undefined>
  readonly set: (entry: string, secret: string) => Promise<void>
  /** False if there was no such entry. */
  readonly remove: (entry: string) => Promise<boolean>
}

/** Why a keychain call failed. */
export type KeychainReason =
  /** This process has no keychain, or this machine has no library for it. */
  | 'absent'
  /** The single-file program holds no library for it, which is machine code. */
  | 'left-out'
  | 'locked'
  /** No answer in time. */
  | 'silent'
  /** The keychain refused, for example because it is full. */
  | 'refused'

/** The request to `keychain-helper.ts`, as JSON on its standard input. */
export const keychainQuestion = z.discriminatedUnion('do', [
  z.object({ do: z.literal('get'), entry: z.string() }),
  z.object({ do: z.literal('set'), entry: z.string(), secret: z.string() }),
  z.object({ do: z.literal('remove'), entry: z.string() }),
])
export type KeychainQuestion = z.infer<typeof keychainQuestion>

/** Its answer, as JSON on its standard output. */
const keychainAnswer = z.union([
  z.object({ found: z.boolean(), secret: z.string().optional() }),
  z.object({
    reason: z.enum(['absent', 'locked', 'refused'] satisfies readonly KeychainReason[]),
    /** The library's message; holds no secret. */
    words: z.string(),
  }),
])
export type KeychainAnswer = z.infer<typeof keychainAnswer>

/** A keychain that asks the user to unlock it never answers on a machine without a user. Ms. */
const TIMEOUT_MS = 3_000

/** Variables that lead to the user's session and its keychain. The child gets no others, so it gets no tokens. */
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
  /** Environment of the user's session. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The helper script. Tests replace it. */
  readonly helper?: string
  readonly timeoutMs?: number
}

/**
 * The keychain of the system: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux.
 *
 * Each call is a child process, because the library's calls cannot be cancelled. In this process, a call that hangs
 * would block a thread that file operations need, and keep the process from exiting. A child can be killed.
 */
export function createSystemKeychain({
  env,
  helper = helperFile,
  timeoutMs = TIMEOUT_MS,
}: SystemKeychainOptions): Keychain {
  const childEnv = Object.fromEntries(passedVariables.map((name) => [name, env[name]]))

  const ask = async (question: KeychainQuestion): Promise<Extract<KeychainAnswer, { found: boolean }>> => {
    if (isSea()) throw keychainError('left-out', '')
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

/** The helper is beside this file, in the sources and in the build. */
const helperFile = fileURLToPath(new URL(`keychain-helper${extname(import.meta.url)}`, import.meta.url))

/** The helper's output; undefined if its time limit passed. */
function askChild(
  helper: string,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
  question: string,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The secret goes through pipes, because other users can read command lines and environments.
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
    // The child may have ended before it reads.
    child.stdin.on('error', () => {})
    child.stdin.end(question)
  })
}

/** For callers of the daemon, who must not learn more about this machine. */
export const keychainDetail = 'The keychain that holds the key of the stored login cannot be used'
export const keychainFix = 'Unlock the keychain. The log of copilot-proxy shows the cause'

const reasons: Readonly<Record<KeychainReason, { readonly sentence: string; readonly remedy: string }>> = {
  absent: { sentence: 'this session has none', remedy: 'Start one' },
  'left-out': { sentence: 'the single-file program has no access to it', remedy: 'Install copilot-proxy with npm' },
  locked: { sentence: 'it is locked, or not set up', remedy: 'Unlock it' },
  silent: { sentence: 'it did not answer; it may be locked and waiting for its password', remedy: 'Unlock it' },
  refused: { sentence: 'it returned an error', remedy: 'Check that it has free space' },
}

/** @param words the system's own message */
export function keychainError(reason: KeychainReason, words: string): RecordStoreError {
  const { sentence, remedy } = reasons[reason]
  const said = words === '' ? '' : ` (${words.slice(0, 200)})`
  return new RecordStoreError(
    'keychain',
    `The keychain cannot be used (auth.store is keychain): ${sentence}${said}. ` +
      `${remedy} and try again, or set auth.store to file`,
  )
}
