import { expect, test } from 'vitest'
import { parseCodexList } from '../../src/models/wire.ts'
import { codexReply } from './samples.ts'

test('the prompts of a catalogue are dropped while it is read', () => {
  expect(JSON.stringify(codexReply)).toContain('PROMPT')
  expect(JSON.stringify(parseCodexList(codexReply))).not.toContain('PROMPT')
})

test('distinguishes the lists of the two upstreams by their shape', () => {
  expect(parseCodexList({ models: [{ slug: 'gpt-6-sol' }] })).toMatchObject({ kind: 'catalogue', leftOut: 0 })
  expect(parseCodexList({ object: 'list', data: [{ id: 'gpt-6-sol' }] })).toMatchObject({ kind: 'key-api', leftOut: 0 })
  expect(parseCodexList({ models: [], data: [{ id: 'gpt-6-sol' }] })).toEqual({
    kind: 'catalogue',
    entries: [],
    leftOut: 0,
  })
})
