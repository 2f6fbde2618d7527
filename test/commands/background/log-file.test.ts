import { appendFile, chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLogFile } from '../../../src/commands/background/enter-background.ts'
import type { LogFile } from '../../../src/commands/background/enter-background.ts'
import { followLines, readLastLines } from '../../../src/commands/background/logs.ts'
import { createLogSink } from '../../../src/logging/log-sink.ts'
import { makeFolder } from '../../tools/session.ts'

async function logPath(): Promise<string> {
  const dir = await makeFolder()
  return join(dir, 'daemon.log')
}

async function open(path: string, maxBytes: number): Promise<LogFile> {
  const file = await openLogFile(path, { maxBytes, kept: 2 })
  onTestFinished(() => file.close())
  return file
}

function sinkOf(file: LogFile) {
  return createLogSink({ ...file, maxQueued: 100_000, describeDropped: String, gatherMs: 0 })
}

const textOf = (path: string): Promise<string> => readFile(path, 'utf8')

test('F10 a log that has grown too large is set aside, and no more than two older ones stay', async () => {
  const path = await logPath()
  const sink = sinkOf(await open(path, 30))
  for (let line = 0; line < 13; line += 1) {
    sink.write(`line number ${line % 10}\n`)
    await sink.flush(5000)
  }
  expect(await textOf(path)).toBe('line number 2\n')
  expect(await textOf(`${path}.1`)).toBe('line number 9\nline number 0\nline number 1\n')
  expect(await textOf(`${path}.2`)).toBe('line number 6\nline number 7\nline number 8\n')
  await expect(stat(`${path}.3`)).rejects.toThrow('ENOENT')
})

test('nothing is lost of what is written while it is set aside', async () => {
  const path = await logPath()
  const sink = sinkOf(await open(path, 2000))
  const lines = Array.from({ length: 300 }, (_, at) => `line ${at}`)
  for (const line of lines) sink.write(`${line}\n`)
  await sink.flush(5000)
  sink.write('last\n')
  await sink.flush(5000)
  const all = await Promise.all([`${path}.2`, `${path}.1`, path].map((name) => textOf(name).catch(() => '')))
  expect(all.join('')).toBe(`${[...lines, 'last'].join('\n')}\n`)
})

test.runIf(process.platform !== 'win32')('only its owner can read it, also one that was there before', async () => {
  const path = await logPath()
  await writeFile(path, 'an old line, long enough\n')
  await chmod(path, 0o644)
  await open(path, 10)
  const modes = await Promise.all([path, `${path}.1`].map(async (name) => (await stat(name)).mode & 0o777))
  expect(modes).toEqual([0o600, 0o600])
  expect(await textOf(path)).toBe('')
})

test('the last lines come from older files too', async () => {
  const path = await logPath()
  expect(await readLastLines(path, 5)).toBeUndefined()
  await writeFile(`${path}.2`, 'a\nb\n')
  await writeFile(`${path}.1`, 'c\nd\n')
  await writeFile(path, 'e\nü\n')
  const last = async (count: number) => (await readLastLines(path, count))?.lines
  expect(await last(0)).toEqual([])
  expect(await last(1)).toEqual(['ü'])
  expect(await last(3)).toEqual(['d', 'e', 'ü'])
  expect(await last(100)).toEqual(['a', 'b', 'c', 'd', 'e', 'ü'])
})

test('F10 following reads on where a log was set aside and begun anew, also in the middle of a line', async () => {
  const path = await logPath()
  await writeFile(path, 'seen\n')
  const steps = [
    () => appendFile(path, 'one\ntw'),
    () => appendFile(path, Buffer.from('o\nü').subarray(0, 3)),
    async () => {
      await appendFile(path, Buffer.from('ü\nlast of the old\n').subarray(1))
      await writeFile(`${path}.1`, await textOf(path))
      await writeFile(path, 'new\n')
    },
    () => Promise.reject(new Error('enough')),
  ]
  const seen: string[] = []
  const following = followLines(path, { offset: 5 }, () => steps.shift()?.() ?? Promise.resolve())
  await expect(
    (async () => {
      for await (const lines of following) seen.push(...lines)
    })(),
  ).rejects.toThrow('enough')
  expect(seen).toEqual(['one', 'two', 'ü', 'last of the old', 'new'])
})
