import { expect } from 'vitest'
import type { Proxy } from '../http/harness.ts'

/** A stack trace, or a place in the file system of whoever runs the program. */
const inside = /\n\s+at |\.ts:\d|node_modules|node:internal|\/(?:home|root|tmp|work|Users)\//

/** Expects that the replies to malicious requests reveal no internal details, and that the next request is served. */
export async function expectUnharmed({ send }: Pick<Proxy, 'send'>, ...replies: readonly string[]): Promise<void> {
  for (const text of replies) expect(text).not.toMatch(inside)
  expect((await send('/v1/models')).status).toBe(200)
}

/** The error envelope that a path answers with. */
export function envelopeOf(path: string): unknown {
  const message = expect.stringMatching(/./)
  if (path.startsWith('/v1/messages')) {
    return {
      type: 'error',
      error: expect.objectContaining({ type: expect.any(String), message }),
      request_id: expect.any(String),
    }
  }
  return { error: expect.objectContaining({ message, type: expect.any(String) }) }
}
