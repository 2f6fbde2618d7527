import { keychainDetail, keychainFix } from '../records/keychain.ts'
import { adviceFor, errnoOf, RecordStoreError } from '../records/record-fs.ts'
import type { RefreshFailure } from './state.ts'

/** The record cannot be read, stored or locked. The error's own message contains a path, so it goes to the log only. */
export function toStoreFailure(
  error: unknown,
  { busy, unwritable }: { readonly busy: string; readonly unwritable: string },
): RefreshFailure {
  const logFix = 'The log of copilot-proxy names the file and the fix'
  const problem = error instanceof RecordStoreError ? error.problem : 'unreadable'
  switch (problem) {
    case 'busy':
      return { state: 'unreachable', detail: busy, fix: logFix }
    case 'unwritable':
    case 'lock_lost':
      return { state: 'unreachable', detail: unwritable, fix: `${systemAdvice(error)}${logFix}` }
    case 'keychain':
      return { state: 'unreadable', detail: keychainDetail, fix: keychainFix }
    case 'not_a_file':
    case 'not_private':
    case 'unreadable':
      return { state: 'unreadable', detail: 'The stored login cannot be read', fix: logFix }
  }
}

/** Advice against the system's error; '' for any other error. */
function systemAdvice(error: unknown): string {
  const code = error instanceof Error ? errnoOf(error.cause) : ''
  if (code === '') return ''
  const advice = adviceFor(code)
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}. `
}
