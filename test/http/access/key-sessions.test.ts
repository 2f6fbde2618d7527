import { expect, test } from 'vitest'
import { prepareKeys } from '../../../src/http/access/api-keys.ts'
import type { ApiKey } from '../../../src/http/access/api-keys.ts'
import { createKnownCallers } from '../../../src/http/access/key-sessions.ts'

function keyOf(text: string): ApiKey {
  const [key] = prepareKeys([text])
  if (key === undefined) throw new Error('there is a key')
  return key
}

test('a key is known at addresses that it was accepted from only, also after a reload', () => {
  const callers = createKnownCallers()
  callers.note('a', keyOf('first-key'))
  expect(callers.has('a', keyOf('first-key'))).toBe(true)
  expect(callers.has('b', keyOf('first-key'))).toBe(false)
  expect(callers.has('a', keyOf('second-key'))).toBe(false)
})

test('remembers ten thousand pairs and forgets the least recent first', () => {
  const callers = createKnownCallers()
  const key = keyOf('first-key')
  callers.note('a', key)
  callers.note('b', key)
  callers.note('a', key)
  for (let n = 0; n < 9999; n += 1) callers.note(`source ${n}`, key)
  expect([callers.has('a', key), callers.has('b', key)]).toEqual([true, false])
  callers.note('one more', key)
  expect(callers.has('a', key)).toBe(false)
})
