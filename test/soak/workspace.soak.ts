import { test } from 'vitest'
import { killWriters } from '../workspace/patch/kill-writers.ts'
import { raceWrites } from '../workspace/race-writes.ts'
import { createRunner, printMuch } from '../workspace/runner.ts'

test('G20: leaves every file whole, and all old or all new, when killed 200 times', () => killWriters(200))

test('G05: writes and reads nothing outside while a folder is swapped for a link, 5000 times', () => raceWrites(5000))

test('G27: a command that prints 1 GB keeps the start and the end', async () => {
  await printMuch((await createRunner()).run, 1_000_000_000)
})
