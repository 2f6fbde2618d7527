import { z } from 'zod'
import { textPhrase } from './setting-types.ts'

/**
 * Headers that the program sets for each request. A configured value would be lost or break the request, and a fixed
 * `x-initiator` would misreport the initiator.
 */
const reservedNames: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'copilot-vision-request',
  'host',
  'transfer-encoding',
  'x-initiator',
  'x-request-id',
])

/** Headers that state the purpose of a request. `auto`: derived from the request. */
export const purposeHeaders = ['openai-intent', 'x-interaction-type', 'x-interaction-id', 'x-agent-task-id'] as const

/** The entries that are the same for every request. */
export function fixedHeaders(table: Readonly<Record<string, string>>): Record<string, string> {
  const derived: readonly string[] = purposeHeaders
  return Object.fromEntries(
    Object.entries(table).filter(([name, value]) => value !== 'auto' || !derived.includes(name)),
  )
}

/** The defaults of `copilot.headers`: GitHub's editor. Reasons: docs/copilot-wire.md, "Request headers". */
export const editorHeaders: Readonly<Record<string, string>> = {
  'user-agent': 'GitHubCopilotChat/0.54.0',
  'editor-version': 'vscode/1.126.0',
  'editor-plugin-version': 'copilot-chat/0.54.0',
  'copilot-integration-id': 'vscode-chat',
  'openai-intent': 'auto',
  'x-interaction-type': 'auto',
  'x-interaction-id': 'auto',
  'x-agent-task-id': 'auto',
  'x-github-api-version': '2026-08-01',
  'x-vscode-user-agent-library-version': 'electron-fetch',
}

/** RFC 9110 §5.1 and §5.6.2. A name that is not in lower case by now is a duplicate (`withLowerCaseKeys`). */
const headerName = z
  .string()
  .regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/i, 'expected a header name')
  .refine((name) => name === name.toLowerCase(), 'this header appears twice')
  .refine((name) => !reservedNames.has(name), 'copilot-proxy sets this header itself')

/** RFC 9110 §5.5: visible characters, with spaces and tabs between them only. */
const legalValue = /^(?:[!-~\u{80}-\u{ff}](?:[\t -~\u{80}-\u{ff}]*[!-~\u{80}-\u{ff}])?)?$/u

export function legalHeaderValue(value: string): boolean {
  return legalValue.test(value)
}

const headerValue = z
  .string({ error: textPhrase })
  // Not repeated in the message: a header may carry a key.
  .refine(legalHeaderValue, 'expected a valid header value: one line of plain characters')
  .nullable()

/** A table of request headers over `defaults`; an empty or null entry removes a default. Expects names in lower case. */
export function headerTable(defaults: Readonly<Record<string, string>>) {
  return z
    .record(headerName, headerValue, 'a table of header names and values')
    .transform((entries): Record<string, string> => {
      const kept = Object.entries({ ...defaults, ...entries }).flatMap(([name, value]) =>
        value === null || value === '' ? [] : [[name, value] as const],
      )
      return Object.fromEntries(kept)
    })
}
