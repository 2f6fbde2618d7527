import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../auth/http-json.ts'
import { removeIfThere, replaceFile, temporaryName } from '../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../auth/records/file-lock.ts'
import { isStillRunning } from '../auth/records/process-start.ts'
import { errnoOf, isForeign, isLoose } from '../auth/records/record-fs.ts'
import type { Logger } from '../logging/logger.ts'

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

/** A file next to the token. It identifies a token that a killed daemon has left. */
const ownerNote = z.object({
  program: z.literal('copilot-proxy'),
  pid: z.int().min(1),
  process_start: z.string(),
  host: z.string(),
  /** Hash of the token in the discovery file. */
  token_sha256: z.string(),
})
type OwnerNote = z.infer<typeof ownerNote>

export interface TokenFilesDeps {
  /** Undefined if this program has no data folder. */
  readonly ownDir: string | undefined
  /** `<COPILOT_HOME or ~/.copilot>/extensions/tap`; undefined if there is no home directory. */
  readonly discoveryDir: string | undefined
  readonly pid: number
  /** Returns the start time of a process, or undefined if it does not run or the system does not report it. */
  readonly processStart: (pid: number) => Promise<string | undefined>
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

const discoveryName = '.provider-token'
const noteName = '.provider-token.owner'

/** A gateway holds the lock only for milliseconds, so a longer wait means a failure. Ms. */
const lockTimes = { ...LOCK_TIMES, waitLimitMs: 5000 }

export function createTokenFiles({ ownDir, discoveryDir, pid, processStart, log }: TokenFilesDeps): TokenFiles {
  let ownStart: string | undefined
  /** The token in the discovery file, if this daemon wrote it. */
  let published: string | undefined
  const ownFile = ownDir === undefined ? undefined : join(ownDir, `${pid}.json`)

  async function publishToken(dir: string, token: string): Promise<string | undefined> {
    const file = join(dir, discoveryName)
    if (!(await makePrivateFolder(dir))) return undefined
    return await withLock(dir, async () => {
      const found = await readToken(file)
      if (found !== undefined && !(await isOurs(dir, found))) {
        log.warn(
          { file },
          'this file has the token of another gateway, so tool programs connect to that gateway; if it no longer runs, delete the file',
        )
        return undefined
      }
      const note: OwnerNote = {
        program: 'copilot-proxy',
        pid,
        process_start: ownStart ?? '',
        host: hostname(),
        token_sha256: sha256(token),
      }
      await replaceFile(nodeFs, join(dir, noteName), `${JSON.stringify(note)}\n`)
      if (found === undefined) await createFile(file, token)
      else await replaceFile(nodeFs, file, token)
      published = token
      return file
    })
  }

  /** Returns whether this daemon or one that no longer runs wrote the token. */
  async function isOurs(dir: string, found: string): Promise<boolean> {
    if (found === published) return true
    const note = await readNote(dir)
    if (note === undefined || note.token_sha256 !== sha256(found) || note.host !== hostname()) return false
    // With the same pid, the earlier daemon has ended: in a container, each start may get the same pid.
    return note.pid === pid || !(await isStillRunning(note, processStart))
  }

  async function makePrivateFolder(dir: string): Promise<boolean> {
    await nodeFs.mkdir(dir, { recursive: true, mode: 0o700 })
    const { uid, mode } = await nodeFs.stat(dir)
    if (isForeign(uid)) {
      log.warn({ dir }, 'this folder belongs to another user, so the token of the gateway is not written there')
      return false
    }
    if (isLoose(mode)) await nodeFs.chmod(dir, 0o700)
    return true
  }

  return {
    async publish(record) {
      ownStart ??= (await processStart(pid)) ?? ''
      let discoveryFile: string | undefined
      if (discoveryDir !== undefined && record.url !== null) {
        discoveryFile = await publishToken(discoveryDir, record.token).catch((error: unknown) => {
          log.warn(
            { dir: discoveryDir, reason: reasonOf(error) },
            'the token of the gateway cannot be written where tool programs look for it',
          )
          return undefined
        })
      }
      if (ownDir === undefined || ownFile === undefined) return
      try {
        await nodeFs.mkdir(ownDir, { recursive: true, mode: 0o700 })
        await removeStaleTokens(ownDir, { pid, processStart })
        const complete = { ...record, pid, process_start: ownStart, discovery_file: discoveryFile ?? null }
        await replaceFile(nodeFs, ownFile, `${JSON.stringify(complete, null, 2)}\n`)
      } catch (error) {
        log.warn({ dir: ownDir, reason: reasonOf(error) }, 'the record of the gateway cannot be written')
      }
    },
    async withdraw() {
      try {
        if (ownFile !== undefined) await removeIfThere(nodeFs, ownFile)
        if (discoveryDir === undefined || published === undefined) return
        await removeToken(join(discoveryDir, discoveryName), published)
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'the token of the gateway could not be removed')
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
    if (file !== null) await removeToken(file, token).catch(() => {})
    await removeIfThere(nodeFs, path)
  }
}

async function removeToken(file: string, token: string): Promise<void> {
  if ((await readToken(file)) !== token) return
  const dir = dirname(file)
  await withLock(dir, async () => {
    if ((await readToken(file)) !== token) return
    await removeIfThere(nodeFs, file)
    await removeIfThere(nodeFs, join(dir, noteName))
  })
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

async function readNote(dir: string): Promise<OwnerNote | undefined> {
  return ownerNote.safeParse(parseJson(await nodeFs.readFile(join(dir, noteName), 'utf8').catch(() => ''))).data
}

/** Returns undefined if there is no file. @throws an error if it is not a plain file */
async function readToken(file: string): Promise<string | undefined> {
  try {
    if (!(await nodeFs.lstat(file)).isFile()) throw new Error(`${file} is not a plain file`)
    return (await nodeFs.readFile(file, 'utf8')).trim()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Creates a file with a link: unlike a rename, that never replaces a file that another program has just created. */
async function createFile(file: string, text: string): Promise<void> {
  const temp = temporaryName(file)
  try {
    await nodeFs.writeFile(temp, text, { flag: 'wx', mode: 0o600, flush: true })
    await nodeFs.link(temp, file)
  } finally {
    await removeIfThere(nodeFs, temp)
  }
}

async function withLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const lock = await acquireLock(nodeFs, join(dir, '.provider-token.lock'), lockTimes, undefined)
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function reasonOf(error: unknown): string {
  return errnoOf(error) || (error instanceof Error ? error.message : String(error))
}
