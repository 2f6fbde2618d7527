import { codexRecordKind } from '../auth/codex/record.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import { createRecordStore } from '../auth/record-store.ts'
import type { RecordStore } from '../auth/record-store.ts'
import { tellingTroubles, troubleLog } from './account.ts'
import type { CommandContext } from './context.ts'
import type { LoadedSettings } from './settings.ts'

export function openCodexRecords(
  context: CommandContext,
  settings: Pick<LoadedSettings, 'authDir'>,
): RecordStore<CodexRecord> {
  return createRecordStore({ kind: codexRecordKind, dir: settings.authDir, log: troubleLog(context) })
}

/**
 * The newest login that is stored here; undefined when there is none.
 * @throws RecordStoreError when there are records and none can be read. What it says is not in the notes on stderr.
 */
export function findCodexRecord(
  context: CommandContext,
  settings: Pick<LoadedSettings, 'authDir'>,
): Promise<CodexRecord | undefined> {
  return tellingTroubles(context, (log) =>
    createRecordStore({ kind: codexRecordKind, dir: settings.authDir, log }).current(),
  )
}
