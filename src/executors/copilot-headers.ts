import { purposeHeaders } from '../config/header-table.ts'
import type { Identity, IdentityHeaders } from './copilot-identity.ts'
import type { Initiator, UpstreamCall } from './executor.ts'
import { createHeaderFilter } from './read-reply.ts'

/** The headers of one identity's calls. */
interface CopilotHeaders {
  readonly ofCall: (token: string, call: UpstreamCall, initiator: Initiator, accept: string) => Record<string, string>
  /** Headers of `GET /models`: the same identity, with the intent that GitHub's clients send there. */
  readonly ofModelList: (token: string) => Record<string, string>
}

/**
 * Identity comes first so that no configured header can displace the credential or the accounting.
 * Source: docs/copilot-wire.md, "Request headers".
 * @param configured `copilot.headers`
 */
export function createCopilotHeaders(
  { fixed, automatic, ofModelList }: Identity,
  configured: IdentityHeaders,
): CopilotHeaders {
  // A header that the user removed from the table is not sent, even if the caller states it.
  const sent = purposeHeaders.filter((name) => configured[name] !== undefined)

  return {
    ofCall(token, call, initiator, accept) {
      const headers: Record<string, string> = {
        ...fixed,
        ...call.headers,
        authorization: `Bearer ${token}`,
        'content-type': call.contentType ?? 'application/json',
        accept,
        'x-request-id': call.requestId,
        'x-initiator': initiator,
      }
      for (const name of sent) {
        const value = call.interaction?.stated[name] ?? fixed[name] ?? automatic[name](call, initiator)
        if (value !== undefined) headers[name] = value
      }
      // Also needed when the image is only in the history or inside a tool result; without it upstream answers 400.
      if (call.hasImage) headers['copilot-vision-request'] = 'true'
      if (call.sessionToken !== undefined) headers['copilot-session-token'] = call.sessionToken
      return headers
    },
    ofModelList: (token) => ({
      ...fixed,
      ...ofModelList,
      authorization: `Bearer ${token}`,
      accept: 'application/json',
    }),
  }
}

/**
 * Response headers that reach the caller: quota and rate limits, which clients may show, whether and when both SDKs try
 * again (`retry-after` travels with the error), and the ids that support asks for. Everything else (cookies, CORS,
 * server names) is dropped.
 */
export const passedHeaders = createHeaderFilter(
  /^(?:x-github-request-id|x-copilot-service-request-id|x-quota-snapshot-[a-z_]+|x-usage-ratelimit-[a-z]+|x-ratelimit-exceeded|x-should-retry|retry-after-ms)$/,
)
