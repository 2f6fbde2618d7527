import { expect, test } from 'vitest'
import { createSocketMemories } from '../../../src/http/responses-socket/socket-memory.ts'
import { createResponseStores } from '../../../src/pipeline/reply-memory.ts'

function open(limits?: Parameters<typeof createSocketMemories>[1]) {
  const stored = createResponseStores(() => 0)({ key: undefined })
  const openMemory = createSocketMemories(() => 0, limits)
  const connect = (id: string) => {
    const memory = openMemory(id)
    return { ...memory, unstored: memory.of(stored, () => false), stored: memory.of(stored, () => true) }
  }
  return { stored, connect }
}

const words = (text: string) => ({ type: 'message', role: 'user', content: text })

function turn(text: string, previousId?: string) {
  const input = [words(text)]
  return { input, inputChars: JSON.stringify(input).length, previousId, response: { output: [words(`${text}!`)] } }
}

const texts = (history: readonly unknown[] | undefined) => JSON.stringify(history)?.match(/[a-z]!?(?="})/g)

test('a conversation is that of its connection alone, and ends with it', () => {
  const { stored, connect } = open()
  const [one, other] = [connect('1'), connect('2')]
  one.unstored.put('first', turn('a'))
  one.unstored.put('second', turn('b', 'first'))
  expect(texts(one.unstored.historyOf('second'))).toEqual(['a', 'a!', 'b', 'b!'])
  expect(other.unstored.historyOf('second')).toBeUndefined()
  expect(stored.historyOf('second')).toBeUndefined()
  one.close()
  expect(one.unstored.historyOf('second')).toBeUndefined()
})

test('a stored turn has the turns before it, whether they were stored or not', () => {
  const { stored, connect } = open()
  const { unstored, stored: kept, close } = connect('1')
  unstored.put('first', turn('a'))
  kept.put('second', turn('b', 'first'))
  kept.put('third', turn('c', 'second'))
  close()
  expect(texts(stored.historyOf('third'))).toEqual(['a', 'a!', 'b', 'b!', 'c', 'c!'])
})

test('a conversation may begin with a stored turn', () => {
  const { stored, connect } = open()
  stored.put('first', turn('a'))
  const { unstored } = connect('1')
  unstored.put('second', turn('b', 'first'))
  stored.remove('first')
  expect(texts(unstored.historyOf('second'))).toEqual(['a', 'a!', 'b', 'b!'])
})

test('beyond the limit of all connections the oldest turns are forgotten, not a part of a conversation in silence', () => {
  const { connect } = open({ maxAgeMs: 1000, maxEntries: 2, maxChars: 1_000_000 })
  const [one, other] = [connect('1'), connect('2')]
  one.unstored.put('first', turn('a'))
  one.unstored.put('second', turn('b', 'first'))
  other.unstored.put('third', turn('c'))
  expect(one.unstored.historyOf('second')).toBeUndefined()
  expect(texts(other.unstored.historyOf('third'))).toEqual(['c', 'c!'])
})
