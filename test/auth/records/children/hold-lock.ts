// Takes the lock of a record, says so, and stays inside until it is killed. Arguments: folder, record id.
import { copilotRecordKind } from '../../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../../src/auth/records/record-store.ts'
import { recordingLog } from '../../support.ts'

const [, , dir = '', id = ''] = process.argv
const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
await store.update(id, async () => {
  process.stdout.write('held\n')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
  return undefined
})
