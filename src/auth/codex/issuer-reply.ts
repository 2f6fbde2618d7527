import { z } from 'zod'
import { redactText } from '../../redaction/redact.ts'
import { nameRequestId } from '../../upstream-errors/request-id.ts'
import { parseJson, toPlainLine, type Reply } from '../http-json.ts'

const words = z.string().min(1).nullish().catch(null)

/** The shapes in which the issuer says what is wrong (docs/codex-wire.md, "Login"); none of them is guaranteed. */
const refusal = z.looseObject({
  error: z
    .union([z.string(), z.looseObject({ message: words, code: words })])
    .nullish()
    .catch(null),
  error_description: words,
  message: words,
})

/**
 * Why the issuer's reply is unusable, as a sentence without its period, with the issuer's own message if there is one.
 * @param secrets what was sent and may be reflected
 */
export function describeIssuerReply(reply: Reply, secrets: readonly string[] = []): string {
  const page = describeIssuerPage(reply)
  if (page !== '') return page
  const said = wordsOf(parseJson(reply.text))
  const status = `OpenAI answered ${reply.status}`
  const what =
    said === undefined ? `${status} without what was asked for` : `${status}: ${redactText(toPlainLine(said, secrets))}`
  // Its `x-request-id` is OpenAI's own; the name is that of the header in which replies pass it on.
  const id = nameRequestId((name) => reply.headers.get(name === 'x-oai-request-id' ? 'x-request-id' : name))
  return id === undefined ? what : `${what} (${id})`
}

/** Says that a web page came instead of an answer; '' for any other reply. */
export function describeIssuerPage({ status, headers, text }: Reply): string {
  const isPage = /^text\/html\b/i.test(headers.get('content-type') ?? '') || text.trimStart().startsWith('<')
  return isPage
    ? `A web page came back instead of OpenAI’s answer (status ${status}): a check for robots, the sign-in page of a ` +
        'network, a company proxy or firewall may be in the way'
    : ''
}

function wordsOf(body: unknown): string | undefined {
  const read = refusal.safeParse(body)
  if (!read.success) return undefined
  const { error, error_description: description, message } = read.data
  const [fromError, code] = typeof error === 'string' ? [undefined, error] : [error?.message, error?.code]
  return description || fromError || message || code || undefined
}
