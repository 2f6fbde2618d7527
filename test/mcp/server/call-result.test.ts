import { expect, test } from 'vitest'
import { resultOf } from '../../../src/mcp/server/call-result.ts'
import { capResult } from '../../../src/tools/cap-result.ts'

test('the images of a tool are images for a client, and its texts go once', () => {
  const resource = { uri: 'x://1', mimeType: 'text/plain', text: 'say' }
  const result = resultOf({
    text: 'Taken.',
    structuredContent: { ok: true },
    parts: [
      { type: 'image', mediaType: 'image/png', base64: 'AAAA' },
      { type: 'audio', mediaType: 'audio/wav', base64: 'BBBB' },
      { type: 'resource', resource },
      { type: 'resource_link', uri: 'x://2', name: 'two' },
      { type: 'new', a: 1 },
    ],
  })
  expect(result).toEqual({
    content: [
      { type: 'text', text: 'Taken.' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' },
      { type: 'resource', resource },
      { type: 'resource_link', uri: 'x://2', name: 'two' },
      { type: 'text', text: '{\n "type": "new",\n "a": 1\n}' },
    ],
    structuredContent: { ok: true },
  })
})

test('an image that is too large is a sentence, not a part of its bytes', () => {
  const parts = [{ type: 'image', mediaType: 'image/png', base64: 'A'.repeat(2000) }]
  expect(resultOf(capResult({ text: 'Taken.', parts }, 1000)).content).toEqual([
    { type: 'text', text: 'Taken.' },
    { type: 'text', text: '(A part of the result was left out.)' },
    { type: 'text', text: '[image/png, too large: left out]' },
  ])
})
