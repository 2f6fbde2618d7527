// Asks for a credential and says which one it got. Arguments: folder, issuer, where to stop for good (or 'nowhere').
// Lines on stdout: `started`; `at <point>`; `got <name of the token>` or `failed <sentence>`.
import * as nodeFs from 'node:fs/promises'
import { createCodexLoginSource } from '../../../../src/auth/codex/login-source.ts'
import { codexRecordKind } from '../../../../src/auth/codex/record.ts'
import type { RecordFs } from '../../../../src/auth/records/record-fs.ts'
import { createRecordStore } from '../../../../src/auth/records/record-store.ts'
import { Fault } from '../../../../src/errors.ts'
import { recordingLog } from '../../support.ts'
import { nameOf } from '../support.ts'

const [, , dir = '', issuer = '', stopAt = 'nowhere'] = process.argv

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const reach = async (point: string): Promise<void> => {
  if (point !== stopAt) return
  say(`at ${point}`)
  await new Promise((resolve) => setTimeout(resolve, 600_000))
}

/** Writes of the record: the mark is the first, the new tokens the second. */
let renames = 0
const fs: RecordFs = {
  ...nodeFs,
  rename: async (from, to) => {
    renames += 1
    await reach(renames === 1 ? 'mark not in place' : 'tokens not in place')
    await nodeFs.rename(from, to)
    await reach(renames === 1 ? 'mark in place' : 'tokens in place')
  },
}

const source = createCodexLoginSource(
  {
    store: createRecordStore({ kind: codexRecordKind, dir, log: recordingLog(), fs }),
    fetch: async (...args) => {
      const response = await fetch(...args)
      await reach('reply arrived')
      return response
    },
    now: Date.now,
    monotonicMs: () => performance.now(),
    random: () => 0,
    log: recordingLog(),
  },
  { issuer, clientId: 'app-example' },
)
say('started')
try {
  // Longer than the patience for a renewal while the old token still works.
  const credential = await source.get(new AbortController().signal)
  await source.close()
  say(`got ${String(nameOf(credential.value))}`)
} catch (error) {
  await source.close()
  say(`failed ${error instanceof Fault ? JSON.stringify(error.error) : String(error)}`)
}
