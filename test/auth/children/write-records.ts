// Writes one record over and over until it is killed; says so after the first time. Arguments: folder.
import { copilotRecordKind } from '../../../src/auth/copilot-record-kind.ts'
import { createRecordStore } from '../../../src/auth/record-store.ts'
import { exampleRecord, recordingLog } from '../support.ts'

const [, , dir = ''] = process.argv
const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
for (let n = 1; ; n += 1) {
  await store.write(exampleRecord({ access_token: 'x'.repeat(20_000), obtained_at: n }))
  if (n === 1) process.stdout.write('started\n')
}
