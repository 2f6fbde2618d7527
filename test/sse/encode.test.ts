import { expect, test } from 'vitest'
import { encodeComment, encodeData, encodeEvent, encodeJsonEvent } from '../../src/sse/encode.ts'

test('writes data as one event', () => {
  expect(encodeData('{"a":1}')).toBe('data: {"a":1}\n\n')
  expect(encodeData('')).toBe('data: \n\n')
})

test('keeps text of several lines inside its event', () => {
  expect(encodeData('a\nb\r\nc\rd\n\nevent: x')).toBe('data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: event: x\n\n')
})

test('names an event', () => {
  expect(encodeEvent('ping', 'a\nb')).toBe('event: ping\ndata: a\ndata: b\n\n')
  expect(encodeJsonEvent('ping', '{"a":1}')).toBe('event: ping\ndata: {"a":1}\n\n')
})

test('keeps a comment of several lines a comment', () => {
  expect(encodeComment('keepalive')).toBe(': keepalive\n\n')
  expect(encodeComment('a\ndata: b')).toBe(': a\n: data: b\n\n')
})
