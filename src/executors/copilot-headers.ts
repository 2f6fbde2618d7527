import type { UpstreamCall } from './executor.ts'
import { passHeaders } from './reply-headers.ts'
import type { UpstreamReply } from './send-request.ts'

/** The header table of `copilot.headers`, in lower case; who the program says it is. */
export type IdentityHeaders = Readonly<Record<string, string>>

/**
 * Headers of one model call. Identity comes first so that no configured header can displace the credential or the
 * accounting. Source: docs/copilot-wire.md, "Request headers".
 */
export function copilotHeaders(
  identity: IdentityHeaders,
  token: string,
  call: UpstreamCall,
  accept: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    ...identity,
    ...call.headers,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept,
    'x-request-id': call.requestId,
    'x-initiator': call.initiator,
  }
  // Also needed when the image is only in the history or inside a tool result; without it upstream answers 400.
  if (call.hasImage) headers['copilot-vision-request'] = 'true'
  return headers
}

/**
 * Over the configured ones where the bearer is a GitHub token: GitHub's own CLI, which is the client that sends one, has this
 * id, and fine-grained tokens work with no other (docs/copilot-wire.md, "Without exchange").
 */
export const directHeaders: IdentityHeaders = { 'copilot-integration-id': 'copilot-developer-cli' }

/** Headers of `GET /models`: the same identity under the intent that GitHub's clients use for it. */
export function copilotModelsHeaders(identity: IdentityHeaders, token: string): Record<string, string> {
  return {
    ...identity,
    'openai-intent': 'model-access',
    authorization: `Bearer ${token}`,
    accept: 'application/json',
  }
}

/**
 * Response headers that reach the caller: quota and rate limits, which clients may show, whether and when both SDKs try
 * again (`retry-after` travels with the error), and the ids support asks for. Everything else upstream sends (cookies,
 * CORS, server names) stays here.
 */
const passedOn =
  /^(?:x-github-request-id|x-copilot-service-request-id|x-quota-snapshot-[a-z_]+|x-usage-ratelimit-[a-z]+|x-ratelimit-exceeded|x-should-retry|retry-after-ms)$/

export function passedHeaders(headers: UpstreamReply['headers']): Record<string, string> {
  return passHeaders(headers, passedOn)
}
