import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../auth/http-json.ts'
import { isAlive, removeIfThere, replaceFile, temporaryName } from '../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../auth/records/file-lock.ts'
import { errnoOf, isForeign, isLoose } from '../auth/records/record-fs.ts'
import type { Logger } from '../logging/logger.ts'

/** What the commands read of a running gateway: `<data folder>/gateway/<pid>.json`. */
const gatewayRecord = z.object({
  pid: z.int().min(1),
  /** Detects that the pid was reused; '' where the system does not say it. */
  process_start: z.string(),
  started_at: z.string(),
  /** Null: the gateway could not listen, for the reason in `problem`. */
  url: z.string().nullable(),
  problem: z.string().nullable(),
  /** For providers. */
  token: z.string(),
  /** For the commands: providers do not have it. */
  control_key: z.string(),
  /** Where providers find the token; null: another gateway's token is there. */
  discovery_file: z.string().nullable(),
})
export type GatewayRecord = z.infer<typeof gatewayRecord>

/** Beside the token, so that a token left by a killed daemon is known. */
const ownerNote = z.object({
  program: z.literal('copilot-proxy'),
  pid: z.int().min(1),
  process_start: z.string(),
  host: z.string(),
  /** Of the token in the file. */
  token_sha256: z.string(),
})
type OwnerNote = z.infer<typeof ownerNote>

export interface TokenFilesDeps {
  /** Undefined: there is no folder for the data of this program. */
  readonly ownDir: string | undefined
  /** `<COPILOT_HOME or ~/.copilot>/extensions/tap`; undefined: there is no home. */
  readonly discoveryDir: string | undefined
  readonly pid: number
  /** When a process started; undefined: it does not run, or the system does not say it. */
  readonly processStart: (pid: number) => Promise<string | undefined>
  readonly log: Logger
}

export interface TokenFiles {
  /**
   * Writes the record, and the token where providers look for it unless another gateway's is there. Called again after a
   * change. Failures are logged.
   */
  readonly publish: (record: Omit<GatewayRecord, 'pid' | 'process_start' | 'discovery_file'>) => Promise<void>
  /** Removes what `publish` has written. */
  readonly withdraw: () => Promise<void>
}

const discoveryName = '.provider-token'
const noteName = '.provider-token.owner'

/** Another gateway holds the lock for milliseconds. Ms. */
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
          'this file has the token of another gateway, so tool providers connect to that gateway; if it no longer runs, delete the file',
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

  /** Whether this daemon wrote the token, or one that no longer runs. */
  async function isOurs(dir: string, found: string): Promise<boolean> {
    if (found === published) return true
    const note = await readNote(dir)
    if (note === undefined || note.token_sha256 !== sha256(found) || note.host !== hostname()) return false
    // A container gives each of its daemons the same pid.
    return note.pid === pid || !(await isRunning(note, processStart))
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
            'the token of the gateway cannot be written where providers look for it',
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

async function isRunning(
  of: { readonly pid: number; readonly process_start: string },
  processStart: TokenFilesDeps['processStart'],
): Promise<boolean> {
  if (!isAlive(of.pid)) return false
  const started = await processStart(of.pid)
  return started === undefined || of.process_start === '' || started === of.process_start
}

/**
 * Removes the records of daemons that were killed, and their tokens from where providers look.
 * @param ownDir the folder of the records; it need not exist
 */
export async function removeStaleTokens(
  ownDir: string,
  { pid, processStart }: Pick<TokenFilesDeps, 'pid' | 'processStart'>,
): Promise<void> {
  for (const path of await recordPaths(ownDir)) {
    const record = await readRecord(path)
    if (record === undefined || record.pid === pid || (await isRunning(record, processStart))) continue
    const { discovery_file: file, token } = record
    // The folder may be gone, or closed to this user by now.
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

/** The records of gateways whose daemon runs. */
export async function readRunningGateways(
  ownDir: string,
  processStart: TokenFilesDeps['processStart'],
): Promise<readonly GatewayRecord[]> {
  const found: GatewayRecord[] = []
  for (const path of await recordPaths(ownDir)) {
    const record = await readRecord(path)
    if (record !== undefined && (await isRunning(record, processStart))) found.push(record)
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

/** Undefined if there is none. @throws an error for anything that is no file */
async function readToken(file: string): Promise<string | undefined> {
  try {
    if (!(await nodeFs.lstat(file)).isFile()) throw new Error(`${file} is not a plain file`)
    return (await nodeFs.readFile(file, 'utf8')).trim()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Unlike a rename, a link never replaces a file that another program has just created. */
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
