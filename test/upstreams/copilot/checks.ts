import type { AutoSession } from '../../../src/demo/auto.ts'
import { invalidBody } from '../../../src/demo/failures.ts'
import type { Checks, InferenceSubject } from '../../../src/demo/inference.ts'
import type { CopilotRoutesDeps } from '../../../src/demo/routes.ts'
import { refuseEditor } from './access.ts'
import { refuseSession } from './auto.ts'
import { chatShapeRefusal, refuseChat } from './chat-checks.ts'
import { refuseImages } from './image-checks.ts'
import { messagesShapeRefusal, refuseMessages } from './messages/checks.ts'
import { refuseResponses, responsesShapeRefusal } from './responses/checks.ts'
import type { CopilotSettings } from './settings.ts'

interface ChecksDeps {
  readonly settings: () => CopilotSettings
  readonly autoSessions: ReadonlyMap<string, AutoSession>
  readonly now: () => number
}

/** Everything that the real Copilot refuses in a request for an answer, first reason first. */
export function createCopilotChecks({
  settings,
  autoSessions: sessions,
  now,
}: ChecksDeps): NonNullable<CopilotRoutesDeps['checks']> {
  const strict = <Request extends { readonly stream?: boolean | undefined }>({
    wrongShape,
    refuse,
  }: Checks<Request>): Checks<Request> => ({
    wrongShape,
    refuse: (subject: InferenceSubject<Request>) => {
      const { call, model, request } = subject
      return (
        refuseEditor(call.header('editor-version') ?? '', model.id) ??
        refuseSession(call.header('copilot-session-token'), model.id, { sessions, nowMs: now() }) ??
        (request.stream === true ? undefined : invalidBody('non streaming requests are not supported by this model')) ??
        refuse(subject) ??
        refuseImages(subject, settings().maxImageBytes)
      )
    },
  })
  return {
    chat: strict({ wrongShape: chatShapeRefusal, refuse: refuseChat }),
    responses: strict({ wrongShape: responsesShapeRefusal, refuse: refuseResponses }),
    messages: strict({ wrongShape: messagesShapeRefusal, refuse: refuseMessages }),
  }
}
