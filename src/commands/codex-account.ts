import { codexRecordKind } from '../auth/codex/record.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import { openRecordStore } from '../auth/open-record-store.ts'
import type { RecordStore } from '../auth/record-store.ts'
import { recordPlace, tellingTroubles, troubleLog } from './account.ts'
import type { AuthSettings } from './account.ts'
import type { CommandContext } from './context.ts'

export function openCodexRecords(context: CommandContext, settings: AuthSettings): RecordStore<CodexRecord> {
  return openRecordStore(codexRecordKind, recordPlace(context, settings), troubleLog(context))
}

/**
 * The newest login that is stored here; undefined when there is none.
 * @throws RecordStoreError when there are records and none can be read. What it says is not in the notes on stderr.
 */
export function findCodexRecord(context: CommandContext, settings: AuthSettings): Promise<CodexRecord | undefined> {
  return tellingTroubles(context, (log) =>
    openRecordStore(codexRecordKind, recordPlace(context, settings), log).current(),
  )
}
