import { parseObject } from '../parts/wire-json.ts'

/** OpenAI's limit for the cache key it becomes. */
const MAX_LENGTH = 64
/** Beyond this no client's `user_id` is that long, and parsing it would be work for whoever sent it. */
const LONGEST_USER_ID = 4096

/**
 * The session in `metadata.user_id`: Claude Code writes JSON with a `session_id` there, earlier versions wrote
 * `user_…_account_…_session_…`. Undefined for any other id: it names a person, who is nobody else's business.
 */
export function sessionIdOf(userId: string | null | undefined): string | undefined {
  if (typeof userId !== 'string' || userId.length > LONGEST_USER_ID) return undefined
  const session = parseObject(userId)?.['session_id'] ?? /_session_([\w-]+)$/.exec(userId)?.[1]
  return typeof session === 'string' && session !== '' ? session.slice(0, MAX_LENGTH) : undefined
}
