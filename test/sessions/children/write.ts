import { openSessionStore } from '../../../src/sessions/session-store.ts'

// Writes a run and an event to a file, again and again, and prints the number of writes so far. Argument: the file.
const store = openSessionStore(process.argv[2] ?? '')
for (let stored = 1; ; stored += 1) {
  store.put({
    run: {
      id: 'run',
      session: 'app',
      owner: null,
      conversation: 'talk',
      state: 'running',
      startedMs: 1,
      endedMs: null,
      data: String(stored),
    },
    event: {
      id: stored,
      session: 'app',
      owner: null,
      conversation: 'talk',
      type: 'fragment',
      timeMs: 1,
      data: 'x'.repeat(900),
    },
  })
  // Wait until the line is written before the next write to the file.
  await new Promise((resolve) => process.stdout.write(`${stored}\n`, resolve))
}
