import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { removeIfThere, replaceFile } from '../auth/records/atomic-file.ts'
import { isStillRunning } from '../auth/records/process-start.ts'
import { errnoOf } from '../auth/records/record-fs.ts'
import {
  hasEnded,
  isNoteOf,
  makePrivateFolder,
  readNote,
  readToken,
  tokenFailure,
  tokenNote,
  withdrawToken,
  withTokenLock,
  writeToken,
  type TokenFile,
  type TokenOwner,
} from '../auth/records/token-file.ts'
import type { Logger } from '../logging/logger.ts'
import { parseJson } from '../json/json.ts'

/** The file `<data folder>/gateway/<pid>.json`, from which commands read the state of a running gateway. */
const gatewayRecord = z.object({
  pid: z.int().min(1),
  /** Start time of the process, which detects a reused pid; '' if the system does not report it. */
  process_start: z.string(),
  started_at: z.string(),
  /** Null if the gateway could not listen; `problem` states why. */
  url: z.string().nullable(),
  problem: z.string().nullable(),
  /** The token of providers. */
  token: z.string(),
  /** The key of the commands. Providers do not know it. */
  control_key: z.string(),
  /** The file in which providers find the token; null if it could not be written, e.g. because another gateway's is there. */
  discovery_file: z.string().nullable(),
})
export type GatewayRecord = z.infer<typeof gatewayRecord>

export interface TokenFilesDeps extends TokenOwner {
  /** Undefined if this program has no data folder. */
  readonly ownDir: string | undefined
  /** `<COPILOT_HOME or ~/.copilot>/extensions/tap`; undefined if there is no home directory. */
  readonly discoveryDir: string | undefined
  readonly log: Logger
}

export interface TokenFiles {
  /**
   * Writes the record, and the token to where providers look for it unless another gateway's token is there. Call it again
   * after a change. Logs failures.
   */
  readonly publish: (record: Omit<GatewayRecord, 'pid' | 'process_start' | 'discovery_file'>) => Promise<void>
  /** Removes the files that `publish` has written. */
  readonly withdraw: () => Promise<void>
}

/** The note beside the token of a gateway of this program. */
const gatewayNote = z.object({ ...tokenNote.shape, program: z.literal('copilot-proxy') })

/** The file in which providers find the token. */
function discoveryFileOf(dir: string): TokenFile {
  const path = join(dir, '.provider-token')
  return { path, notePath: `${path}.owner`, lockPath: `${path}.lock` }
}

export function createTokenFiles({ ownDir, discoveryDir, pid, processStart, log }: TokenFilesDeps): TokenFiles {
  let ownStart: string | undefined
  /** The token in the discovery file, if this daemon wrote it. */
  let published: string | undefined
  const ownFile = ownDir === undefined ? undefined : join(ownDir, `${pid}.json`)

  async function publishToken(dir: string, token: string): Promise<string | undefined> {
    const file = discoveryFileOf(dir)
    return await withTokenLock(file, async () => {
      const found = await readToken(file.path)
      if (found !== undefined && !(await isOurs(file, found))) {
        log.warn(
          { file: file.path },
          'this file has the token of another gateway, so tool programs connect to that gateway; if it no longer runs, delete the file',
        )
        return undefined
      }
      await writeToken(file, token, { pid, processStart }, { program: 'copilot-proxy' })
      published = token
      return file.path
    })
  }

  /** Returns whether this daemon or one that no longer runs wrote the token. */
  async function isOurs({ notePath }: TokenFile, found: string): Promise<boolean> {
    if (found === published) return true
    const note = await readNote(notePath, gatewayNote)
    return note !== undefined && isNoteOf(note, found) && (await hasEnded(note, { pid, processStart }))
  }

  return {
    async publish(record) {
      ownStart ??= (await processStart(pid)) ?? ''
      let discoveryFile: string | undefined
      if (discoveryDir !== undefined && record.url !== null) {
        discoveryFile = await publishToken(discoveryDir, record.token).catch((error: unknown) => {
          log.warn(
            { dir: discoveryDir, reason: tokenFailure(error) },
            'the token of the gateway cannot be written where tool programs look for it',
          )
          return undefined
        })
      }
      if (ownDir === undefined || ownFile === undefined) return
      try {
        await makePrivateFolder(ownDir)
        await removeStaleTokens(ownDir, { pid, processStart })
        const complete = { ...record, pid, process_start: ownStart, discovery_file: discoveryFile ?? null }
        await replaceFile(nodeFs, ownFile, `${JSON.stringify(complete, null, 2)}\n`)
      } catch (error) {
        log.warn({ dir: ownDir, reason: tokenFailure(error) }, 'the record of the gateway cannot be written')
      }
    },
    async withdraw() {
      try {
        if (ownFile !== undefined) await removeIfThere(nodeFs, ownFile)
        if (discoveryDir === undefined || published === undefined) return
        await withdrawToken(discoveryFileOf(discoveryDir), published)
      } catch (error) {
        log.warn({ reason: tokenFailure(error) }, 'the token of the gateway could not be removed')
      }
      published = undefined
    },
  }
}

/**
 * Removes the records of killed daemons, and their tokens from where providers look.
 * @param ownDir the folder of the records; it need not exist
 */
export async function removeStaleTokens(
  ownDir: string,
  { pid, processStart }: Pick<TokenFilesDeps, 'pid' | 'processStart'>,
): Promise<void> {
  for (const path of await recordPaths(ownDir)) {
    const record = await readRecord(path)
    if (record === undefined || record.pid === pid || (await isStillRunning(record, processStart))) continue
    const { discovery_file: file, token } = record
    // By now, the folder may be deleted or inaccessible to this user.
    if (file !== null) await withdrawToken(discoveryFileOf(dirname(file)), token).catch(() => {})
    await removeIfThere(nodeFs, path)
  }
}

/** Returns the records of gateways whose daemon runs. */
export async function readRunningGateways(
  ownDir: string,
  processStart: TokenFilesDeps['processStart'],
): Promise<readonly GatewayRecord[]> {
  const found: GatewayRecord[] = []
  for (const path of await recordPaths(ownDir)) {
    const record = await readRecord(path)
    if (record !== undefined && (await isStillRunning(record, processStart))) found.push(record)
  }
  return found
}

async function recordPaths(ownDir: string): Promise<readonly string[]> {
  const names = await nodeFs.readdir(ownDir).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return []
    throw error
  })
  return names.map((name) => join(ownDir, name))
}

async function readRecord(path: string): Promise<GatewayRecord | undefined> {
  if (!/[\\/]\d+\.json$/.test(path)) return undefined
  return gatewayRecord.safeParse(parseJson(await nodeFs.readFile(path, 'utf8').catch(() => ''))).data
}
