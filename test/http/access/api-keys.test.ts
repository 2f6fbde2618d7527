import { createHash, timingSafeEqual } from 'node:crypto'
import type * as Crypto from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { findKey, holdsKey, prepareKeys, presentedKeys } from '../../../src/http/access/api-keys.ts'

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof Crypto>()
  return { ...crypto, timingSafeEqual: vi.fn(crypto.timingSafeEqual) }
})

const hash = (key: string): string => createHash('sha256').update(key).digest('hex')
const keys = prepareKeys(['first-key', `laptop:sha256:${hash('second-key')}`, 'third-key'])

test('the name of a key reveals nothing of the key', () => {
  expect(keys.map(({ name }) => name)).toEqual(['plain-1', 'laptop', 'plain-3'])
  expect(JSON.stringify(keys)).not.toContain('-key')
})

test.each([
  [['first-key'], 'plain-1'],
  [['second-key'], 'laptop'],
  [['dummy', 'third-key'], 'plain-3'],
  [['third-key', 'dummy'], 'plain-3'],
  [['first-key', 'second-key'], 'plain-1'],
  [['dummy'], undefined],
  [[''], undefined],
  [[], undefined],
  [[hash('second-key')], undefined],
  [[`laptop:sha256:${hash('second-key')}`], undefined],
])('reads the keys of %j: %s', (presented, name) => {
  expect(findKey(presented, keys)?.name).toBe(name)
})

test.each([['first-key'], ['second-key'], ['third-key'], ['first-kez'], ['none'], ['none', 'first-key']])(
  'B02 compares with every key in constant time, whichever is right: %s %s',
  (...presented) => {
    vi.mocked(timingSafeEqual).mockClear()
    findKey(presented, keys)
    expect(timingSafeEqual).toHaveBeenCalledTimes(keys.length * presented.length)
  },
)

test('a key stays the same under another name or in another form', () => {
  const [first] = keys
  if (first === undefined) throw new Error('there is a first key')
  expect(holdsKey(prepareKeys([`phone:sha256:${hash('first-key')}`]), first)).toBe(true)
  expect(holdsKey(prepareKeys(['another-key']), first)).toBe(false)
  expect(holdsKey([], first)).toBe(false)
})

test('keys are read from two headers only', () => {
  expect(presentedKeys({ authorization: 'bearer  a ', 'x-api-key': 'b' })).toEqual(['a', 'b'])
  expect(presentedKeys({ authorization: 'Basic a', cookie: 'key=a' })).toEqual([])
})
