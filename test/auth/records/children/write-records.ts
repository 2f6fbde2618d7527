// Writes one record over and over until it is killed, each with the next number, and tells each. Arguments: folder,
// the last number that was written.
import { flushCompileCache } from 'node:module'
import { copilotRecordKind } from '../../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../../src/auth/records/record-store.ts'
import { exampleRecord, recordingLog } from '../../support.ts'

// A process that is killed writes none at its end.
flushCompileCache()
const [, , dir = '', last = '0'] = process.argv
const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
for (let n = Number(last) + 1; ; n += 1) {
  await store.write(exampleRecord({ access_token: 'x'.repeat(20_000), obtained_at: n }))
  process.stdout.write(`${n}\n`)
}
