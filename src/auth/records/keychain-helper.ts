// A process of its own: answers one question about the system's keychain and ends. See keychain.ts.
import type * as keyring from '@napi-rs/keyring'
import { kill, pid, stdin, stdout } from 'node:process'
import { text } from 'node:stream/consumers'
import { keychainQuestion, type KeychainAnswer, type KeychainQuestion } from './keychain.ts'

/** What the entries are filed under. */
const SERVICE = 'copilot-proxy'

/** Longer than anybody waits for the answer: for when whoever asked was killed. Ms. */
const LIFE_MS = 10_000

/** Without this the library would go on with the kernel's keyring, which forgets everything when the machine stops. */
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
 * By the library's words: it gives every error the same code. “Platform failure: DBus error” is a session without a bus
 * or without a Secret Service; “Couldn't access platform storage” is its NoStorageAccess, a store that is locked
 * (@napi-rs/keyring 2.1.2, seen with gnome-keyring).
 */
function reasonOf(words: string): 'absent' | 'locked' | 'refused' {
  if (/DBus error|not supported/i.test(words)) return 'absent'
  return /access platform storage|locked|prompt/i.test(words) ? 'locked' : 'refused'
}

// The library's threads cannot be stopped, and hold up every orderly exit.
setTimeout(() => kill(pid, 'SIGKILL'), LIFE_MS).unref()
const asked = keychainQuestion.parse(JSON.parse(await text(stdin)))
stdout.write(JSON.stringify(await answer(asked)))
