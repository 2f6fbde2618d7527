import { createOwnerAccess } from '../../src/http/access/owner-access.ts'
import type { OwnerAccess } from '../../src/http/access/owner-access.ts'

export const ownerToken = 'owner-token-of-a-test-0123456789-0123456789'

/** The owner of a daemon that a test builds without `startDaemon`. */
export function createTestOwner(): OwnerAccess {
  return createOwnerAccess({ token: ownerToken, now: () => performance.now(), holdSecret: () => {} })
}
