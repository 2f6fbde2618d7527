import type { IncomingHttpHeaders } from 'node:http'
import { expect, test } from 'vitest'
import { presentedKeys } from '../../../src/http/access/api-keys.ts'
import { curlCommand } from '../../../src/page/static/curl-command.js'
import { keyHeaders } from '../../../src/redaction/key-headers.ts'
import { redactFields, redactText } from '../../../src/redaction/redact.ts'
import { createRequestList } from '../../../src/usage/requests.ts'
import { openProxy } from '../harness.ts'

const key = 'dull'
const value = `Bearer ${key}, copilot-proxy.bearer.${key}`
const handshake = { upgrade: 'websocket' }

/** The headers by which a key is accepted: those that are read and give one. */
function acceptedHeaders(): readonly string[] {
  const read = new Set<string>()
  const headers: IncomingHttpHeaders = new Proxy(handshake, {
    get(target, name) {
      read.add(String(name))
      return Reflect.get(target, name)
    },
  })
  presentedKeys(headers)
  return [...read].filter((name) => presentedKeys({ ...handshake, [name]: value }).length > 0)
}

test('keys are accepted by the listed headers, and by the subprotocol of a WebSocket', () => {
  expect(acceptedHeaders().toSorted()).toEqual([...keyHeaders, 'sec-websocket-protocol'].toSorted())
})

test.each(acceptedHeaders())('the key in %s is kept nowhere', (name) => {
  const list = createRequestList({ keepsBodies: () => true, redact: (text) => text })
  list.noteBody('request-1', 'request', '{"a":1}')
  list.noteHeaders('request-1', { [name]: value, 'x-test': 'shown' })
  const origin = { method: 'POST', path: '/v1/chat/completions', userAgent: undefined }
  list.note({ startedAtMs: 0, kind: 'chat', origin, line: { requestId: 'request-1', status: 200 } })
  const kept = list.find('request-1', () => true)
  if (kept === undefined) throw new Error('the request is listed')
  expect(kept.request_headers).toEqual({ 'x-test': 'shown' })

  const request = { ...kept, request_headers: { [name]: value, 'x-test': 'shown' } }
  const place = { url: 'http://127.0.0.1:4141', isKeyAsked: true }
  const command = curlCommand(request, place)
  expect(command).toContain('x-test: shown')
  expect(command).not.toContain(key)

  expect(redactFields({ headers: { [name]: value, 'x-test': 'shown' } })).toEqual({
    headers: { [name]: '[redacted]', 'x-test': 'shown' },
  })
})

test.each([...keyHeaders])('a text with %s loses the key, and a preflight allows the header', async (name) => {
  expect(redactText(`${name}: ${key}`)).toBe(`${name}: [redacted]`)
  const { send } = await openProxy({ file: 'server: { allowed-origins: ["https://app.example"] }' })
  const { headers } = await send('/v1/messages', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': `${name}, x-other`,
    },
  })
  expect(headers['access-control-allow-headers']).toBe(name)
})
