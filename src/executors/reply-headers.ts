import type { UpstreamReply } from './send-request.ts'

type Headers = UpstreamReply['headers']

/** Longer than any value that was seen. */
const passableValue = /^[\x20-\x7e]{1,256}$/

/** The headers of a reply whose names are on the list, and whose values can be sent on. */
export function passHeaders(headers: Headers, passedOn: RegExp): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && passedOn.test(name) && passableValue.test(value.trim())) passed[name] = value
  }
  return passed
}

/** `retry-after` as received, where it is what it should be: seconds or a date (RFC 9110 §10.2.3). */
export function retryAfterIn({ 'retry-after': value }: Headers): string | undefined {
  return typeof value === 'string' && /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{1,32})$/.test(value) ? value : undefined
}

/** Whether a body is compressed. None of the requests here allows that: it would be read as it is, and unpacking has no bound. */
export function isEncoded({ 'content-encoding': encoding = 'identity' }: Headers): boolean {
  return encoding !== 'identity'
}
