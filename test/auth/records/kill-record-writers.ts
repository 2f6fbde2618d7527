import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../src/auth/records/record-store.ts'
import { recordingLog } from '../support.ts'

const script = fileURLToPath(new URL('children/write-records.ts', import.meta.url))

/** Starts and kills writers until together they have made so many writes, and looks at what each leaves. */
export async function killRecordWriters(folder: string, writes: number): Promise<void> {
  const open = () => createRecordStore({ kind: copilotRecordKind, dir: folder, log: recordingLog() })
  let last = 0
  for (let round = 0; last < writes; round += 1) {
    await killAfter(folder, last, { lines: 1 + ((round * 7) % 19), delayMs: round % 4 })
    const record = await open().current()
    expect(record?.metadata.github_access_token).toBe('ghu_example')
    // The old value or the new one: what was announced as written is never gone again.
    expect(record?.metadata.obtained_at).toBeGreaterThan(last)
    last = record?.metadata.obtained_at ?? 0
    const names = await readdir(folder).catch(() => [])
    expect(names.filter((name) => name.endsWith('.tmp') || name.includes('corrupt'))).toEqual([])
  }
  await open().update('copilot-octocat', (record) => ({ ...record, label: 'changed' }))
  expect(await readdir(folder)).toEqual(['copilot-octocat.json'])
}

async function killAfter(folder: string, last: number, at: { lines: number; delayMs: number }): Promise<void> {
  const writer = spawn(process.execPath, [script, folder, String(last)], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void writer.kill('SIGKILL'))
  const gone = once(writer, 'exit')
  let seen = 0
  await new Promise<void>((resolve) => {
    createInterface(writer.stdout).on('line', () => {
      seen += 1
      if (seen === at.lines) resolve()
    })
  })
  // Anywhere in the next write.
  await delay(at.delayMs)
  writer.kill('SIGKILL')
  await gone
}
