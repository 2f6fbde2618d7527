import { Fault } from '../../src/errors.ts'
import type { ProxyError } from '../../src/errors.ts'

/** Only a Fault is an answer; any other exception is a bug and fails the test. */
export function caught(run: () => void): { readonly fault?: ProxyError } {
  try {
    run()
    return {}
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { fault: error.error }
  }
}

/** The error that a call throws. */
export function errorOf(run: () => unknown): ProxyError {
  const { fault } = caught(run)
  if (fault === undefined) throw new Error('nothing was thrown')
  return fault
}

/** A change of the value throws from now on. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  Object.values(value).forEach(deepFreeze)
}
