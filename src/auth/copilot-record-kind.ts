import { hasCodexSuffix } from './endpoint.ts'
import { isCopilotRecordId } from './record-id.ts'
import type { RecordKind } from './record-kind.ts'
import { copilotRecord, type CopilotRecord } from './wire.ts'

/** Logins for GitHub Copilot. An `attributes.base_url` ending in `/backend-api/codex` is left out: that path is another API. */
export const copilotRecordKind: RecordKind<CopilotRecord> = {
  schema: copilotRecord,
  isRecordId: isCopilotRecordId,
  loginCommand: 'copilot-proxy login',
  cleaned(record) {
    const { base_url, ...attributes } = record.attributes
    return base_url !== undefined && hasCodexSuffix(base_url) ? { ...record, attributes } : record
  },
}
