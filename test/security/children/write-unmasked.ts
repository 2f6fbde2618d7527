// Writes a record so many times with no umask. Arguments: folder, times.
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../src/auth/records/record-store.ts'
import { exampleRecord, recordingLog } from '../../auth/support.ts'

const [, , dir = '', times = '0'] = process.argv
process.umask(0)
const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
for (let n = 0; n < Number(times); n += 1) await store.write(exampleRecord({ obtained_at: n }))
