import { openSessionStore } from '../../../src/sessions/session-store.ts'

// Writes for ever to the file it is given, each time a run and three events, and says how often it has.
const store = openSessionStore(process.argv[2] ?? '')
for (let stored = 1; ; stored += 1) {
  store.write(() => {
    store.putRun({ id: 'run', session: 'app', state: 'running', startedMs: 1, endedMs: null, data: String(stored) })
    store.putEvents(
      [2, 1, 0].map((back) => ({
        id: stored * 3 - back,
        session: 'app',
        type: 'fragment',
        timeMs: 1,
        data: 'x'.repeat(300),
      })),
    )
  })
  // Each line is out before the next write.
  await new Promise((resolve) => process.stdout.write(`${stored}\n`, resolve))
}
