import { findProcessStart } from '../../../src/auth/records/process-start.ts'
import { createTokenFiles } from '../../../src/gateway/token-files.ts'

// Publishes a token like a daemon, prints a line, and runs until the test kills it.

const [ownDir, discoveryDir, token = ''] = process.argv.slice(2)
const ignore = (): void => {}
const files = createTokenFiles({
  ownDir,
  discoveryDir,
  pid: process.pid,
  processStart: (pid) => findProcessStart(pid, process),
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
})
const record = { started_at: 'now', url: 'ws://127.0.0.1:1', problem: null, control_key: 'x' }
await files.publish({ ...record, token })
process.stdout.write('published\n')
setInterval(ignore, 60_000)
