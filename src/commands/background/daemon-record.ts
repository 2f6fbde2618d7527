import * as nodeFs from 'node:fs/promises'
import { z } from 'zod'
import { removeIfThere, replaceFile } from '../../auth/atomic-file.ts'
import { parseJson } from '../../auth/http-json.ts'
import { errnoOf } from '../../auth/record-fs.ts'

/** The options that it was started with; none of them holds a secret. */
const daemonFlags = z.object({
  config: z.string().optional(),
  port: z.string().optional(),
  host: z.string().optional(),
  demo: z.literal(true).optional(),
  logLevel: z.string().optional(),
})

/** What a background daemon tells of itself in `daemon.json`, as long as it runs. */
const daemonRecord = z.object({
  /** 1 is the system's own, and what is below means more than one process. */
  pid: z.int().min(2),
  /** Of `findProcessStart`: another process that gets the number later is not taken for it. */
  process_start: z.string().min(1),
  url: z.url(),
  version: z.string(),
  /** ISO 8601. */
  started_at: z.iso.datetime(),
  starter: z.enum(['detach', 'service']),
  flags: daemonFlags,
})
export type DaemonRecord = z.infer<typeof daemonRecord>

/** Undefined where there is none, or something that is none. */
export async function readDaemonRecord(path: string): Promise<DaemonRecord | undefined> {
  try {
    return daemonRecord.safeParse(parseJson(await nodeFs.readFile(path, 'utf8'))).data
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return undefined
    throw error
  }
}

export async function writeDaemonRecord(path: string, record: DaemonRecord): Promise<void> {
  await replaceFile(nodeFs, path, `${JSON.stringify(record, null, 2)}\n`)
}

/** Leaves the record of a daemon that took this one's place. */
export async function removeDaemonRecord(path: string, { pid, process_start }: DaemonRecord): Promise<void> {
  const now = await readDaemonRecord(path)
  if (now?.pid === pid && now.process_start === process_start) await removeIfThere(nodeFs, path)
}
