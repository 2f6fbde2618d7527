import { openSessionStore } from '../../../src/sessions/session-store.ts'

// Writes a run and three events to a file, again and again, and prints the number of writes so far. Argument: the file.
const store = openSessionStore(process.argv[2] ?? '')
for (let stored = 1; ; stored += 1) {
  store.write(() => {
    store.putRun({
      id: 'run',
      session: 'app',
      owner: null,
      state: 'running',
      startedMs: 1,
      endedMs: null,
      data: String(stored),
    })
    store.putEvents(
      [2, 1, 0].map((back) => ({
        id: stored * 3 - back,
        session: 'app',
        owner: null,
        type: 'fragment',
        timeMs: 1,
        data: 'x'.repeat(300),
      })),
    )
  })
  // Wait until the line is written before the next write to the file.
  await new Promise((resolve) => process.stdout.write(`${stored}\n`, resolve))
}
