import { noSums } from '../../../src/usage/tally.ts'
import { DatabaseError } from '../../../src/sqlite/database.ts'
import { openUsageStore } from '../../../src/usage/store.ts'

// Adds one request at a time to a file, and prints the number of stored requests each time. Arguments: the file, and the number
// of requests (default: no limit). Repeats a write that fails because another process has locked the file.
const [file = '', most = 'Infinity'] = process.argv.slice(2)
const store = openUsageStore(file, { waitMs: 1000 })
const tokens = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2 }
const one = {
  ...noSums,
  ...tokens,
  day: '2026-11-20',
  utcDay: '2026-11-20',
  key: '',
  keyId: '',
  client: '',
  session: '',
  requests: 1,
}
for (let stored = 0; stored < Number(most);) {
  try {
    store.add([
      { ...one, provider: 'copilot', model: 'gpt-5-mini' },
      { ...one, provider: 'codex', model: 'gpt-5.5' },
    ])
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.problem !== 'busy') throw error
    continue
  }
  stored += 1
  // Each line is out before the next write: one that a full pipe keeps here would be lost with the process.
  await new Promise((resolve) => process.stdout.write(`${stored}\n`, resolve))
}
store.close()
