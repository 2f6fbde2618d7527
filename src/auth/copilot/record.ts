import { hasCodexSuffix } from './endpoint.ts'
import type { RecordKind } from '../records/record-kind.ts'
import { copilotRecord, type CopilotRecord } from './wire.ts'

/**
 * Logins for GitHub Copilot. An `attributes.base_url` ending in `/backend-api/codex` is left out: that path is another
 * API.
 */
export const copilotRecordKind: RecordKind<CopilotRecord> = {
  schema: copilotRecord,
  isRecordId: isCopilotRecordId,
  loginCommand: 'copilot-proxy login',
  cleaned(record) {
    const { base_url, ...attributes } = record.attributes
    return base_url !== undefined && hasCodexSuffix(base_url) ? { ...record, attributes } : record
  },
}

/** Names a record file may have; a host follows for accounts that do not live on github.com. */
const RECORD_ID = /^copilot-[A-Za-z0-9_-]{1,64}(?:@[A-Za-z0-9-][A-Za-z0-9.-]{0,190})?$/

/**
 * `copilot-<login>`, or `copilot-<login>@SUB.ghe.com`: what the record of this account is called, safe as a file name.
 * Lower case, because logins and some file systems do not tell cases apart.
 */
export function copilotRecordId(login: string, githubBaseUrl: string): string {
  const name =
    login
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]/g, '-')
      .slice(0, 64) || 'account'
  const { hostname } = new URL(githubBaseUrl)
  const host = hostname.replaceAll(/[^a-z0-9.-]/g, '-').slice(0, 190)
  return hostname === 'github.com' ? `copilot-${name}` : `copilot-${name}@${host}`
}

export function isCopilotRecordId(id: string): boolean {
  return RECORD_ID.test(id)
}
