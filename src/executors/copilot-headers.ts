import { fixedHeaders, purposeHeaders } from '../config/header-table.ts'
import type { Initiator, Purpose, UpstreamCall } from './executor.ts'
import { createHeaderFilter } from './read-reply.ts'

/** The header table of `copilot.headers`, in lower case; it identifies the program. */
export type IdentityHeaders = Readonly<Record<string, string>>

/** The headers of one configuration's calls. */
export interface CopilotHeaders {
  readonly ofCall: (token: string, call: UpstreamCall, initiator: Initiator, accept: string) => Record<string, string>
  /** Headers of `GET /models`: the same identity, with the intent that GitHub's clients send there. */
  readonly ofModelList: (token: string) => Record<string, string>
}

/**
 * Override the configured headers if the bearer is a GitHub token. GitHub's own CLI, which sends one, has this id, and
 * fine-grained tokens work with no other (docs/copilot-wire.md, "Without exchange").
 */
export const directHeaders: IdentityHeaders = { 'copilot-integration-id': 'copilot-developer-cli' }

type PurposeHeader = (typeof purposeHeaders)[number]

/** The intent depends on the request's origin and decides upstream's content checks. */
const intentOf: Readonly<Record<Purpose, string>> = {
  agent: 'conversation-agent',
  panel: 'conversation-panel',
  subagent: 'conversation-agent',
  compaction: 'conversation-agent',
  background: 'conversation-panel',
}

/** The values that `auto` derives. Undefined: the header is not sent. Source: docs/copilot-wire.md, "Purpose". */
const automatic: Readonly<Record<PurposeHeader, (call: UpstreamCall) => string | undefined>> = {
  'openai-intent': ({ interaction }) => interaction && intentOf[interaction.purpose],
  'x-interaction-type': ({ interaction }) => interaction && `conversation-${interaction.purpose}`,
  'x-interaction-id': ({ interaction }) => interaction?.id,
  'x-agent-task-id': ({ requestId }) => requestId,
}

/**
 * Identity comes first so that no configured header can displace the credential or the accounting.
 * Source: docs/copilot-wire.md, "Request headers".
 * @param clientIds headers that name this install, laid under the configured ones
 */
export function createCopilotHeaders(identity: IdentityHeaders, clientIds: IdentityHeaders = {}): CopilotHeaders {
  const fixed = { ...clientIds, ...fixedHeaders(identity) }
  // A header that the user removed from the table is not sent, even if the caller states it.
  const sent = purposeHeaders.filter((name) => identity[name] !== undefined)

  return {
    ofCall(token, call, initiator, accept) {
      const headers: Record<string, string> = {
        ...fixed,
        ...call.headers,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept,
        'x-request-id': call.requestId,
        'x-initiator': initiator,
      }
      for (const name of sent) {
        const value = call.interaction?.stated[name] ?? fixed[name] ?? automatic[name](call)
        if (value !== undefined) headers[name] = value
      }
      // Also needed when the image is only in the history or inside a tool result; without it upstream answers 400.
      if (call.hasImage) headers['copilot-vision-request'] = 'true'
      if (call.sessionToken !== undefined) headers['copilot-session-token'] = call.sessionToken
      return headers
    },
    ofModelList: (token) => ({
      ...fixed,
      'openai-intent': 'model-access',
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
