import type { UpstreamReply } from './send-request.ts'

/** Why a 200 cannot be read as an event stream; undefined when it can. Upstreams mislabel their streams at times. */
export function notAStream(headers: UpstreamReply['headers']): string | undefined {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers
  if (typeof type === 'string' && type.startsWith('text/html')) {
    return 'it answered with a web page instead of an event stream'
  }
  return encoding === 'identity' ? undefined : 'it compressed an event stream without being asked to'
}
