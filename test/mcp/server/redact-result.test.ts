import { expect, it } from 'vitest'
import { redactResult, resultOf } from '../../../src/mcp/server/call-result.ts'
import { createKnownSecrets } from '../../../src/redaction/known-secrets.ts'

it('removes known credentials from a result, in its text and in its structure', () => {
  const secrets = createKnownSecrets()
  secrets.note('gho_0123456789')
  expect(redactResult(resultOf({ content: 'token "gho_0123456789"\n' }), secrets.redact)).toEqual({
    content: [{ type: 'text', text: JSON.stringify({ content: 'token "[redacted]"\n' }) }],
    structuredContent: { content: 'token "[redacted]"\n' },
  })
  const plain = resultOf({ content: 'a' })
  expect(redactResult(plain, secrets.redact)).toBe(plain)
})
