import { expectTypeOf, test } from 'vitest'
import type { PageEvent, RequestDetail } from '../../src/page/wire.ts'
import type { SessionEvent } from '../../src/sessions/session-event.ts'
import type { RequestDetail as SentDetail } from '../../src/usage/requests.ts'

/** As the event stream sends it. */
type SentEvent = SessionEvent & { readonly sessionId: string; readonly time: string }

test('the page reads what the daemon sends', () => {
  expectTypeOf<SentEvent>().toExtend<PageEvent>()
  expectTypeOf<SentDetail>().toExtend<RequestDetail>()
})
