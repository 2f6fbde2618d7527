import { redactText } from './redact.ts'

/** Longer messages are cut. Characters; a caller reads the first lines of a message, and logs keep all of it. */
const longestMessage = 4000

const webPage = 'The answer was a web page, not the API (a sign-in page, a firewall or an outage page).'

/**
 * Upstream's own words as a caller may read them: without anything shaped like a credential, never markup, not too long.
 * The one way for a message of upstream's into an answer, whether it came with a status or inside a stream.
 */
export function toUpstreamMessage(text: string): string {
  // Redacted before the cut, so that no half of a credential stays; cut before that, so that the cost is bounded.
  const start = text.trim().slice(0, 2 * longestMessage)
  if (isMarkup(start)) return webPage
  return redactText(start).slice(0, longestMessage).toWellFormed()
}

function isMarkup(text: string): boolean {
  return text.startsWith('<') || (/<html[\s>]/i.test(text) && /<(?:head|body|\/html)[\s>]/i.test(text))
}
