import type { AutoSession } from './auto.ts'
import { invalidBody } from './failures.ts'
import type { Checks, InferencePath, InferenceSubject } from '../inference.ts'
import type { CopilotRoutesDeps } from './answer-routes.ts'
import { refuseEditor } from './access.ts'
import { refuseSession } from './auto.ts'
import { chatShapeRefusal, refuseChat } from './chat-checks.ts'
import { refuseImages } from './image-checks.ts'
import { messagesShapeRefusal, refuseMessages } from './messages/checks.ts'
import { encodeWithPause } from './messages/pause.ts'
import { createPreparedReplies } from './prepared-frames.ts'
import { bindThoughts } from './refusals/bound-thoughts.ts'
import type { BoundThoughts } from './refusals/bound-thoughts.ts'
import { refuseAsReported } from './refusals/rows.ts'
import { refuseResponses, responsesShapeRefusal } from './responses/checks.ts'
import type { CopilotSettings } from './settings.ts'

/**
 * Markers that the demo does not have:
 * - `[demo:pause TIMES?]`: /v1/messages runs a web search and pauses the answer this many times (1), as Anthropic's own
 * service can. It continues when the paused answer comes back.
 * - `[demo:sparse]`: /responses sends calls without an id and a last event without output.
 * - `[demo:frames N PER-WRITE?]`: sends N prepared text events, PER-WRITE of them in one write, for measuring.
 */
const STRICT_MARKERS = ['pause', 'sparse', 'frames']

interface ChecksDeps {
  readonly settings: () => CopilotSettings
  readonly autoSessions: ReadonlyMap<string, AutoSession>
  readonly now: () => number
}

/** The refusals of prompts by the real Copilot. The first reason counts. */
export function createCopilotChecks({
  settings,
  autoSessions: sessions,
  now,
}: ChecksDeps): NonNullable<CopilotRoutesDeps['checks']> {
  const prepared = createPreparedReplies()
  const bound: BoundThoughts = new Map()
  const strict = <Request extends { readonly stream?: boolean | undefined }>(
    path: InferencePath,
    { refuse, ...checks }: Checks<Request>,
  ): Checks<Request> => ({
    ...checks,
    markers: STRICT_MARKERS,
    refuse: (subject: InferenceSubject<Request>) => {
      const { call, model, request } = subject
      return (
        refuseEditor(call.header('editor-version') ?? '', model.id) ??
        refuseSession(call.header('copilot-session-token'), model.id, { sessions, nowMs: now() }) ??
        (request.stream === true ? undefined : invalidBody('non streaming requests are not supported by this model')) ??
        refuseAsReported(path, subject, settings(), bound) ??
        refuse?.(subject) ??
        refuseImages(subject, settings().maxImageBytes) ??
        prepared(path, subject)
      )
    },
  })
  return {
    chat: strict('/chat/completions', {
      wrongShape: chatShapeRefusal,
      refuse: refuseChat,
    }),
    responses: strict('/responses', {
      wrongShape: responsesShapeRefusal,
      refuse: refuseResponses,
    }),
    messages: strict('/v1/messages', {
      wrongShape: messagesShapeRefusal,
      refuse: refuseMessages,
      encode: (answer, subject) => {
        const frames = encodeWithPause(answer, subject)
        bindThoughts(bound, subject.request, frames.content)
        return frames
      },
    }),
  }
}
