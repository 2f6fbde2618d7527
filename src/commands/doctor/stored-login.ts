import { openRecordStore } from '../../auth/open-record-store.ts'
import { RecordStoreError } from '../../auth/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/record-kind.ts'
import type { RecordStore } from '../../auth/record-store.ts'
import type { LoginState } from '../../doctor/login-check.ts'
import { readOnlyFs } from '../../doctor/read-only-fs.ts'
import type { Logger } from '../../log.ts'
import { quietLog, recordPlace } from '../account.ts'
import type { CommandContext } from '../context.ts'
import type { LoadedSettings } from '../settings.ts'

export interface Stored<Found> {
  readonly found: Found | undefined
  /** Why there is none, although there is a file: a sentence that names it. */
  readonly problem: string | undefined
}

/** Looks into the store and changes nothing there, not even what is wrong with it. */
export async function findStored<Record extends StoredRecord, Found>(
  context: CommandContext,
  settings: LoadedSettings,
  kind: RecordKind<Record>,
  look: (store: RecordStore<Record>) => Promise<Found | undefined>,
): Promise<Stored<Found>> {
  const told: string[] = []
  const tell: Logger['warn'] = (first: unknown, message?: unknown) => void told.push(String(message ?? first))
  const log: Logger = { ...quietLog, warn: tell }
  try {
    const found = await look(openRecordStore(kind, recordPlace(context, settings), log, readOnlyFs))
    const unusable = told.find((sentence) => / is not us(?:able|ed), /.test(sentence))
    // Nothing is set aside here, which is no trouble.
    const [problem] = unusable?.split(', and cannot be set aside') ?? []
    return { found, problem: found === undefined ? problem : undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { found: undefined, problem: error.message }
  }
}

export function problemState(problem: string, loginCommand: string): LoginState {
  return { kind: 'problem', detail: problem, fix: `Put that right, or log in again: ${loginCommand}` }
}
