import { expectTypeOf, test } from 'vitest'
import type { ServerListing } from '../../src/mcp/servers/server-connection.ts'
import type { PageEvent, RequestDetail, ServerEntry, StreamSummary } from '../../src/page/wire.ts'
import type { SessionEvent } from '../../src/sessions/session-event.ts'
import type { Sessions } from '../../src/sessions/sessions.ts'
import type { RequestDetail as SentDetail } from '../../src/usage/requests.ts'

/** An event as `GET /events` sends it. */
type SentEvent = SessionEvent & { readonly sessionId: string; readonly time: string }

test('the page reads what the daemon sends', () => {
  expectTypeOf<SentEvent>().toExtend<PageEvent>()
  expectTypeOf<SentDetail>().toExtend<RequestDetail>()
  expectTypeOf<ServerListing>().toExtend<ServerEntry>()
  expectTypeOf<ReturnType<Sessions['streams']>[number]>().toExtend<StreamSummary>()
})
