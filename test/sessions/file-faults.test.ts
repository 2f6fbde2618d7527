import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { listenTo, newFile, openTestSessions } from './support.ts'

/** Ways to take the file away from a process that has it open. */
const removals: Readonly<Record<string, (file: string) => void>> = {
  'the file is removed': (file) => rmSync(file),
  'the file and its log are removed'(file) {
    rmSync(file)
    rmSync(`${file}-wal`)
  },
  'the log is removed': (file) => rmSync(`${file}-wal`),
  'the folder is removed': (file) => rmSync(dirname(file), { recursive: true }),
  'the file is replaced by another one'(file) {
    rmSync(file)
    writeFileSync(file, 'not a database, but long enough for the header of one\n'.repeat(50))
  },
}

/** Ways to damage the file of a process that has it open. */
const damages: Readonly<Record<string, (file: string) => void>> = {
  'the file is truncated': (file) => truncateSync(file, 0),
  'the file and its log are truncated'(file) {
    truncateSync(file, 0)
    truncateSync(`${file}-wal`, 0)
  },
  'the file and its log are overwritten'(file) {
    for (const name of [file, `${file}-wal`]) {
      const descriptor = openSync(name, 'r+')
      writeSync(descriptor, Buffer.alloc(statSync(name).size, 'garbage'), 0, statSync(name).size, 0)
      closeSync(descriptor)
    }
  },
}

const items = [
  { type: 'message', role: 'user', parts: [{ type: 'text', text: 'z'.repeat(2 ** 20) }], path: '' },
] as const

test.each([
  ...Object.entries(removals).map(([name, act]) => ({ name, act, isDamage: false })),
  ...Object.entries(damages).map(([name, act]) => ({ name, act, isDamage: true })),
])(
  'if $name in the middle of a run, runs go on, no timer throws, and the next start reads what was stored since',
  async ({ act, isDamage }) => {
    const file = await newFile()
    const thrown: unknown[] = []
    const timers = new Set<() => void>()
    const goOn = Promise.withResolvers<void>()
    const sessions = await openTestSessions({
      file,
      setTimer(run) {
        timers.add(run)
        return () => timers.delete(run)
      },
      agent: async ({ emit, text }) => {
        emit({ type: 'fragment', kind: 'answer', text: 'x'.repeat(100_000) })
        if (text === 'first') await goOn.promise
        emit({ type: 'fragment', kind: 'answer', text: 'y'.repeat(100_000) })
        return { items }
      },
    })
    const runTimers = (): void => {
      for (const run of Array.from(timers)) {
        timers.delete(run)
        try {
          run()
        } catch (error) {
          thrown.push(error)
        }
      }
    }
    const ear = listenTo(sessions)
    const first = sessions.send('first')
    await ear.heard('fragment')
    act(file)
    goOn.resolve()
    await ear.heard('done', ({ data }) => data['id'] === first)
    runTimers()
    const second = sessions.send('second')
    expect((await ear.heard('done', ({ data }) => data['id'] === second)).data).toMatchObject({ outcome: 'completed' })
    runTimers()
    const problems = sessions.log.lines.filter(({ level }) => level !== 'info')
    expect(problems.length).toBeLessThan(2)
    await sessions.stop(1000)
    sessions.close()
    expect(thrown).toEqual([])
    const again = await openTestSessions({ file })
    const texts = (await again.messages('id-of-app', { limit: 10 })).map(({ text }) => text)
    // SQLite cannot notice that its open file is damaged; the next start moves such a file aside.
    if (!isDamage) expect(texts).toContain('second')
  },
)

test('a file that is removed is created again with the next message, and clients with ids of the old one get a gap', async () => {
  const file = await newFile()
  const sessions = await openTestSessions({ file })
  const ear = listenTo(sessions)
  const first = sessions.send('first')
  const { id: seen } = await ear.heard('done', ({ data }) => data['id'] === first)
  rmSync(dirname(file), { recursive: true })
  const second = sessions.send('second')
  await ear.heard('done', ({ data }) => data['id'] === second)
  expect(await sessions.messages('id-of-app', { limit: 10 })).toMatchObject([{ text: 'second', state: 'ended' }])
  const late = listenTo(sessions, { after: seen - 1 })
  await late.heard('done', ({ data }) => data['id'] === second)
  expect(late.events[0]).toMatchObject({ type: 'gap', data: { from: seen } })
  expect(sessions.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('a file that grows while a run writes is no removed file', async () => {
  const file = await newFile()
  const sessions = await openTestSessions({ file, agent: async () => ({ items }) })
  const ear = listenTo(sessions)
  for (const text of ['first', 'second']) {
    const id = sessions.send(text)
    await ear.heard('done', ({ data }) => data['id'] === id)
  }
  expect(sessions.log.lines).toEqual([])
  expect(await sessions.messages('id-of-app', { limit: 10 })).toHaveLength(2)
})

test('a tool call that ends after the sessions were closed opens no file', async () => {
  const file = await newFile()
  const sessions = await openTestSessions({ file })
  sessions.recordCall('id-of-app', { tool: 'a' })
  expect(existsSync(file)).toBe(true)
  sessions.close()
  rmSync(dirname(file), { recursive: true })
  mkdirSync(dirname(file))
  sessions.recordCall('id-of-app', { tool: 'b' })
  expect(existsSync(file)).toBe(false)
  expect(sessions.log.lines).toEqual([])
})
