import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { Logger } from '../../logging/logger.ts'
import { temporaryName } from '../records/atomic-file.ts'
import { errnoOf } from '../records/record-fs.ts'

/** The ids that identify this install to upstream. None is derived from the machine. */
const clientIds = z.object({
  /** 64 hex digits, like VS Code's. */
  machine_id: z.string().regex(/^[\da-f]{64}$/),
  device_id: z.uuid(),
})
type ClientIds = z.infer<typeof clientIds>

/**
 * The headers that identify this run and this install. The file is created by the first call, so that an install that
 * does not send the headers has no file. Source: docs/copilot-wire.md, "Request headers".
 * @param file keeps the ids of the install, with mode 0600. If it is undefined or cannot be used, the ids last for this
 * run
 */
export function createClientIdHeaders(file: string | undefined, log: Pick<Logger, 'warn'>) {
  let headers: Readonly<Record<string, string>> | undefined
  return (): Readonly<Record<string, string>> => {
    if (headers === undefined) {
      const { machine_id, device_id } = file === undefined ? makeIds() : (readIds(file) ?? keepIds(file, log))
      headers = {
        'vscode-sessionid': `${randomUUID()}${Date.now()}`,
        'vscode-machineid': machine_id,
        'editor-device-id': device_id,
      }
    }
    return headers
  }
}

function makeIds(): ClientIds {
  return { machine_id: randomBytes(32).toString('hex'), device_id: randomUUID() }
}

function readIds(file: string): ClientIds | undefined {
  try {
    return clientIds.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data
  } catch {
    return undefined
  }
}

function keepIds(file: string, log: Pick<Logger, 'warn'>): ClientIds {
  const ids = makeIds()
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const temp = temporaryName(file)
    writeFileSync(temp, `${JSON.stringify(ids)}\n`, { flag: 'wx', mode: 0o600 })
    renameSync(temp, file)
  } catch (error) {
    log.warn({ file, problem: errnoOf(error) }, 'cannot store the client ids; the next start makes new ones')
  }
  return ids
}
