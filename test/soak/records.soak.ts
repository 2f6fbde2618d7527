import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { killRecordWriters } from '../auth/records/kill-record-writers.ts'

test('C04 a writer killed at any moment of 300 writes leaves a whole record and, after the next start, nothing else', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-kills-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await killRecordWriters(join(dir, 'auth'), 300)
})
