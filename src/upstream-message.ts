import { redactText } from './redact.ts'

/** Longer messages are cut. Characters; a caller reads the first lines of a message, and logs keep all of it. */
const longestMessage = 4000

const webPage = 'The answer was a web page, not the API (a sign-in page, a firewall or an outage page).'

/**
 * Upstream's own words as a caller may read them: without credentials, never markup, not too long. The one way for a
 * message of upstream's into an answer, whether it came with a status or inside a stream.
 * @param redact takes known credentials out
 */
export function toUpstreamMessage(text: string, redact: (text: string) => string): string {
  // Known values first, in all of it, and shapes before the last cut: of what is cut in half the rest would not be found.
  const start = redact(text.trim()).slice(0, 2 * longestMessage)
  if (isMarkup(start)) return webPage
  return redactText(start).slice(0, longestMessage).toWellFormed()
}

function isMarkup(text: string): boolean {
  return text.startsWith('<') || (/<html[\s>]/i.test(text) && /<(?:head|body|\/html)[\s>]/i.test(text))
}
