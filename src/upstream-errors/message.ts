import { redactText } from '../redaction/redact.ts'

/** Longer messages are cut. Characters; a caller reads the first lines of a message, and logs keep all of it. */
const longestMessage = 4000

const webPage = 'The answer was a web page, not the API (a sign-in page, a firewall or an outage page).'

/**
 * Upstream's message as a caller may read it: without credentials, never markup, not too long. Every upstream message
 * in an answer goes through this function.
 * @param redact removes known credentials
 */
export function toUpstreamMessage(text: string, redact: (text: string) => string): string {
  // Redact known values before the first cut and shapes before the last: half a secret would not be recognised.
  const start = redact(text.trim()).slice(0, 2 * longestMessage)
  if (isMarkup(start)) return webPage
  return redactText(start).slice(0, longestMessage).toWellFormed()
}

function isMarkup(text: string): boolean {
  return text.startsWith('<') || (/<html[\s>]/i.test(text) && /<(?:head|body|\/html)[\s>]/i.test(text))
}

/** Ends a text with a full stop. A text that ends in `.`, `!` or `?`, or in one of them and a remark in brackets, stays. */
export function sentence(text: string): string {
  return /[.!?](?: \([^()]*\))?$/.test(text) ? text : `${text}.`
}

/** The two largest units, e.g. `45 s`, `26 min`, `3 h 51 min`, `2 d`; minutes are rounded up. */
export function inWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  const parts =
    days > 0
      ? ([
          [days, 'd'],
          [hours % 24, 'h'],
        ] as const)
      : ([
          [hours, 'h'],
          [minutes % 60, 'min'],
        ] as const)
  return parts.flatMap(([amount, unit]) => (amount === 0 ? [] : `${amount} ${unit}`)).join(' ')
}

/** `2026-12-01 00:00 UTC`. */
export function timeInWords(timeMs: number): string {
  const time = new Date(timeMs).toISOString()
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
}

/** The header in which each upstream names its request, for its support (docs/copilot-wire.md, docs/codex-wire.md). */
const names = [
  ['x-github-request-id', 'GitHub request id'],
  ['x-copilot-service-request-id', 'Copilot request id'],
  ['x-oai-request-id', 'OpenAI request id'],
  ['cf-ray', 'Cloudflare ray'],
] as const

/** Longer than any id seen, without spaces. */
const plainId = /^[\w.:-]{1,128}$/

/** `GitHub request id 1A2B:3C4D`, for the end of a message; undefined if no header has one. */
export function nameRequestId(header: (name: string) => string | null | undefined): string | undefined {
  for (const [name, words] of names) {
    const id = header(name)?.trim() ?? ''
    if (plainId.test(id)) return `${words} ${id}`
  }
  return undefined
}
