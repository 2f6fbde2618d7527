import { rememberResults } from '../cache/remember-results.ts'
import { Fault } from '../errors.ts'
import { isTooComplex } from '../json/json.ts'
import { toBodyFault } from './network-fault.ts'
import type { UpstreamReply } from './send-request.ts'

const errorBodyLimitBytes = 64 * 1024
const jsonBodyLimitBytes = 64 * 1024 * 1024
/** A list of 300 models has less than 2 MB, with Codex's instructions for each model. */
const modelListLimitBytes = 8 * 1024 * 1024

interface ReadReplyOptions {
  readonly limitBytes: number
  /** The longest silence between two chunks. Ms. */
  readonly idleMs: number
}

/**
 * Reads a complete reply body as text.
 * @throws Fault `upstream_unusable` over the limit or compressed, `upstream_silent` (idle); what undici reports when
 * the body breaks
 */
async function readReplyText({ body, headers }: UpstreamReply, options: ReadReplyOptions): Promise<string> {
  if (isEncoded(headers)) {
    body.destroy()
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent a compressed answer, which was not requested' })
  }
  const { limitBytes, idleMs } = options
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    const silence = setTimeout(() => {
      giveUp(new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: idleMs }))
    }, idleMs)

    function giveUp(fault: Fault): void {
      clearTimeout(silence)
      body.destroy()
      reject(fault)
    }

    body.read({
      data(chunk) {
        silence.refresh()
        size += chunk.length
        chunks.push(chunk)
        if (size <= limitBytes) return
        giveUp(new Fault({ kind: 'upstream_unusable', detail: `its answer is larger than ${limitBytes} bytes` }))
      },
      end() {
        clearTimeout(silence)
        resolve(Buffer.concat(chunks).toString('utf8'))
      },
      fail(error) {
        clearTimeout(silence)
        reject(error)
      },
    })
  })
}

/** The body of an error reply; '' if it cannot be read. Never rejects. */
export async function readErrorText(reply: UpstreamReply, idleMs: number): Promise<string> {
  return readReplyText(reply, { limitBytes: errorBodyLimitBytes, idleMs }).catch(() => '')
}

/**
 * Reads a complete reply body as JSON, unvalidated.
 * @throws Fault `upstream_unusable`, `upstream_silent` (idle), `upstream_truncated`; the signal's reason on abort
 */
export async function readReplyJson(reply: UpstreamReply, idleMs: number): Promise<unknown> {
  return parseReply(await readBodyText(reply, { limitBytes: jsonBodyLimitBytes, idleMs }))
}

/**
 * Reads a list of models, unvalidated. Its limits keep a wrong list from delaying requests.
 * @throws Fault as `readReplyJson`
 */
export async function readModelList(reply: UpstreamReply, idleMs: number): Promise<unknown> {
  const text = await readBodyText(reply, { limitBytes: modelListLimitBytes, idleMs })
  if (isTooComplex(text)) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'its model list has more values than any real one' })
  }
  return parseReply(text)
}

async function readBodyText(reply: UpstreamReply, options: ReadReplyOptions): Promise<string> {
  try {
    return await readReplyText(reply, options)
  } catch (error) {
    throw toBodyFault(error)
  }
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'its answer is not JSON' }, { cause })
  }
}

type Headers = UpstreamReply['headers']

/** Longer than any value seen. */
const passableValue = /^[\x20-\x7e]{1,256}$/

/**
 * Creates the function that returns the headers of a reply whose names are on the list, and whose values can be sent on.
 * It tests each name once: a reply has some twenty headers.
 */
export function createHeaderFilter(passedOn: RegExp): (headers: Headers) => Record<string, string> {
  const isPassedOn = rememberResults((name) => passedOn.test(name))
  return (headers) => {
    const passed: Record<string, string> = {}
    for (const name in headers) {
      if (!isPassedOn(name)) continue
      const value = headers[name]
      if (typeof value === 'string' && passableValue.test(value.trim())) passed[name] = value
    }
    return passed
  }
}

/** `retry-after` as received if it is seconds or a date (RFC 9110 §10.2.3). */
export function retryAfterIn({ 'retry-after': value }: Headers): string | undefined {
  return typeof value === 'string' && /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{1,32})$/.test(value) ? value : undefined
}

/** Whether a body is compressed. No request here allows compression, and decompression has no size limit. */
function isEncoded({ 'content-encoding': encoding = 'identity' }: Headers): boolean {
  return encoding !== 'identity'
}

/**
 * Closes a reply that is a web page or compressed. Any other content type passes: upstreams mislabel their streams.
 * @param headers those that the caller may see
 * @throws Fault `upstream_unusable`
 */
export function requireEventStream(reply: UpstreamReply, headers: Readonly<Record<string, string>>): void {
  const { 'content-type': type } = reply.headers
  const isPage = typeof type === 'string' && /^text\/html/i.test(type)
  if (!isPage && !isEncoded(reply.headers)) return
  reply.body.destroy()
  const detail = isPage
    ? 'it answered with a web page instead of an event stream'
    : 'it sent a compressed event stream, which was not requested'
  throw new Fault({ kind: 'upstream_unusable', detail, headers })
}
