// Adds one to a record's `refresh_in`, many times. Arguments: folder, record id, times.
import { copilotRecordKind } from '../../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../../src/auth/records/record-store.ts'
import { recordingLog } from '../../support.ts'

const [, , dir = '', id = '', times = '0'] = process.argv
const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
for (let n = 0; n < Number(times); n += 1) {
  await store.update(id, async (record) => {
    await new Promise((resolve) => setImmediate(resolve))
    return { ...record, metadata: { ...record.metadata, refresh_in: (record.metadata.refresh_in ?? 0) + 1 } }
  })
}
