import { createOwnerAccess } from '../../src/http/access/owner-access.ts'
import type { OwnerAccess } from '../../src/http/access/owner-access.ts'

export const ownerToken = 'owner-token-of-a-test-0123456789-0123456789'

/** The owner of a daemon that a test builds without `startDaemon`. */
export function createTestOwner(): OwnerAccess {
  return createOwnerAccess({ token: ownerToken, now: () => performance.now(), holdSecret: () => {} })
}

/** What an app needs besides a pipeline, for tests of none of it. */
export function restOfApp() {
  return {
    codexStatus: () => undefined,
    planUse: () => undefined,
    isConfigRefused: () => false,
    tokenStatus: () => ({ state: 'ok', detail: 'Logged in', fix: '' }) as const,
    account: () => Promise.reject(new Error('not part of this test')),
    version: '0.0.0-test',
    demo: false,
    randomId: () => 'request-1',
    owner: createTestOwner(),
  }
}
