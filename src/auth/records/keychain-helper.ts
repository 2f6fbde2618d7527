// A child process of keychain.ts: answers one question about the system's keychain and exits.
import type * as keyring from '@napi-rs/keyring'
import { kill, pid, stdin, stdout } from 'node:process'
import { text } from 'node:stream/consumers'
import { keychainQuestion, type KeychainAnswer, type KeychainQuestion } from './keychain.ts'

/** The service name of the entries. */
const SERVICE = 'copilot-proxy'

/** Longer than the parent waits for the answer, in case the parent was killed. Ms. */
const LIFE_MS = 10_000

/** Without this, the library would fall back to the kernel's keyring, which loses everything when the machine stops. */
const pinned = { linux: { store: 'secret-service' } } as const

async function answer(question: KeychainQuestion): Promise<KeychainAnswer> {
  let library: typeof keyring
  try {
    library = await import('@napi-rs/keyring')
  } catch {
    return { reason: 'absent', words: 'the optional package @napi-rs/keyring is not installed for this system' }
  }
  try {
    const entry = new library.AsyncEntry(SERVICE, question.entry, pinned)
    switch (question.do) {
      case 'get': {
        const secret = (await entry.getPassword()) ?? undefined
        return secret === undefined ? { found: false } : { found: true, secret }
      }
      case 'set':
        await entry.setPassword(question.secret)
        return { found: true }
      case 'remove':
        return { found: await entry.deletePassword() }
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : ''
    return { reason: reasonOf(words), words }
  }
}

/**
 * Classifies by the library's wording, because it gives every error the same code. “Platform failure: DBus error” means
 * a session without a bus or without a Secret Service. “Couldn't access platform storage” is its NoStorageAccess, a
 * store that is locked (@napi-rs/keyring 2.1.2, seen with gnome-keyring).
 */
function reasonOf(words: string): 'absent' | 'locked' | 'refused' {
  if (/DBus error|not supported/i.test(words)) return 'absent'
  return /access platform storage|locked|prompt/i.test(words) ? 'locked' : 'refused'
}

// No top-level await: the build is CommonJS.
async function main(): Promise<void> {
  const asked = keychainQuestion.parse(JSON.parse(await text(stdin)))
  stdout.write(JSON.stringify(await answer(asked)))
}

// The library's threads cannot be stopped, and would keep the process from exiting normally.
setTimeout(() => kill(pid, 'SIGKILL'), LIFE_MS).unref()
void main()
