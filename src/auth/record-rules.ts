import { hasCodexSuffix } from './endpoint.ts'
import type { CopilotRecord } from './wire.ts'

/** The account in use. Undefined when there is none. */
export function newestLogin(records: readonly CopilotRecord[]): CopilotRecord | undefined {
  return records.toSorted((a, b) => (b.metadata.logged_in_at ?? 0) - (a.metadata.logged_in_at ?? 0))[0]
}

/** Without an `attributes.base_url` that ends in `/backend-api/codex`: that path is another API. */
export function withoutCodexBase(record: CopilotRecord): CopilotRecord {
  const { base_url, ...attributes } = record.attributes
  return base_url !== undefined && hasCodexSuffix(base_url) ? { ...record, attributes } : record
}
