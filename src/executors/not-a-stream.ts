import { isEncoded } from './reply-headers.ts'
import type { UpstreamReply } from './send-request.ts'

/** Why a 200 cannot be read as an event stream; undefined when it can. Upstreams mislabel their streams at times. */
export function notAStream(headers: UpstreamReply['headers']): string | undefined {
  const { 'content-type': type } = headers
  if (typeof type === 'string' && /^text\/html/i.test(type)) {
    return 'it answered with a web page instead of an event stream'
  }
  return isEncoded(headers) ? 'it compressed an event stream without being asked to' : undefined
}
