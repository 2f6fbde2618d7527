import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { RecordStoreError } from '../auth/record-fs.ts'
import { isCopilotRecordId } from '../auth/record-id.ts'
import { newestLogin } from '../auth/record-rules.ts'
import { createRecordStore } from '../auth/record-store.ts'
import type { RecordStore } from '../auth/record-store.ts'
import type { CopilotRecord } from '../auth/wire.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LogoutFlags } from './flags.ts'
import { openRecords, quietLog, requireCopilot, tokenOfEnvironment } from './account.ts'
import { findFiles } from './settings.ts'

/** Deletes the account in use, or all of them. Works with any configuration, also one that is not valid. */
export async function logout(context: CommandContext, flags: LogoutFlags): Promise<ExitCode> {
  requireCopilot(flags.provider)
  const { stdout } = context
  const { authDir } = findFiles(context, flags.config)
  const outcome = flags.all
    ? await leaveAll(context, authDir)
    : await leaveCurrent(context, openRecords(context, { authDir }))
  if (outcome.removed > 0) {
    stdout.write('GitHub itself still lists the authorization: https://github.com/settings/apps/authorizations\n')
  }
  if (outcome.removed === 0 && outcome.left === 0) {
    stdout.write('Nobody is logged in; there is nothing to remove.\n')
  }
  await tellSetAside(context, authDir)
  if (tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is still set, and still used.\n')
  }
  return outcome.left === 0 ? exitCode.done : exitCode.failed
}

interface Outcome {
  /** Records. */
  readonly removed: number
  /** Records that should have been removed and could not be; each has been told of. */
  readonly left: number
}

/** @throws CommandFailure `failed` when no record can be read, so that nobody knows which one is in use */
async function leaveCurrent(context: CommandContext, records: RecordStore): Promise<Outcome> {
  const current = await records.current().catch((error: unknown) => {
    if (!(error instanceof RecordStoreError)) throw error
    const message = 'Nothing was removed: the stored login cannot be read. To remove it: copilot-proxy logout --all'
    throw new CommandFailure(exitCode.failed, message, { cause: error })
  })
  if (current === undefined) return { removed: 0, left: 0 }
  await leave(context, records, current)
  // Not `current`: one that cannot be read has been told of, and is no reason to fail now.
  const next = newestLogin(await records.list())
  if (next !== undefined) context.stdout.write(`The account in use is now ${nameOf(next)}.\n`)
  return { removed: 1, left: 0 }
}

/** Removes every record by its file name: one that cannot be read holds a login all the same. */
async function leaveAll(context: CommandContext, authDir: string): Promise<Outcome> {
  const { stdout, stderr, signal } = context
  // What it would advise about records that cannot be read is not wanted any more: they go too.
  const records = createRecordStore({ dir: authDir, log: quietLog })
  let removed = 0
  let left = 0
  for (const record of await records.list()) {
    await leave(context, records, record)
    removed += 1
  }
  for (const name of await namesIn(authDir)) {
    const id = name.slice(0, -'.json'.length)
    if (!name.endsWith('.json') || !isCopilotRecordId(id)) continue
    const target = await readlink(join(authDir, name)).catch(() => undefined)
    try {
      await records.remove(id, { signal })
      removed += 1
      stdout.write(visibleLines(`Removed ${records.locationOf(id)}${target === undefined ? '' : linkNote(target)}\n`))
    } catch (error) {
      if (!(error instanceof RecordStoreError)) throw error
      left += 1
      stderr.write(visibleLines(`${error.message}\n`))
    }
  }
  return { removed, left }
}

function linkNote(target: string): string {
  return `, a link; what it leads to was left alone and may hold a token: ${target}`
}

async function leave({ stdout, signal }: CommandContext, records: RecordStore, record: CopilotRecord): Promise<void> {
  await records.remove(record.id, { signal })
  stdout.write(`Logged out ${nameOf(record)}; removed ${records.locationOf(record.id)}\n`)
}

/** Names the files that were kept because they are no usable records; this program deletes none of them. */
async function tellSetAside({ stdout }: CommandContext, authDir: string): Promise<void> {
  const aside = (await namesIn(authDir)).filter((name) => /\.json\.corrupt-\d+$/.test(name))
  if (aside.length === 0) return
  const paths = aside.map((name) => `  ${visible(join(authDir, name))}\n`)
  stdout.write(`Set aside because they could not be used; they may hold a token, so delete them:\n${paths.join('')}`)
}

async function namesIn(dir: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dir).catch(() => [])
  return names.toSorted()
}

/** Records can be edited by hand, so what they say is shown and not obeyed. */
function nameOf(record: CopilotRecord): string {
  return visible(record.label || record.id)
}
