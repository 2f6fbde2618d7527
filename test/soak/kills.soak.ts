import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { killRecordWriters } from '../auth/records/kill-record-writers.ts'
import { killWriters } from '../workspace/patch/kill-writers.ts'

test('G20: leaves every file whole, and all old or all new, when killed 200 times', () => killWriters(200))

test('C04 a writer killed at any moment of 300 writes leaves a whole record and, after the next start, nothing else', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-kills-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await killRecordWriters(join(dir, 'auth'), 300)
})
