import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../../auth/records/file-lock.ts'
import { adviceFor, errnoOf, RecordStoreError } from '../../auth/records/record-fs.ts'
import { folderId } from '../folder-id.ts'
import { failed, ToolError } from '../tool-error.ts'
import { consentRule, joinRules, type ConsentRule } from './consent-rules.ts'

/** Far more than a person decides. */
const maxRules = 1000

const consentsFile = z.strictObject({ rules: z.array(consentRule).max(maxRules) })

interface ConsentsNow {
  readonly rules: readonly ConsentRule[]
  /** States why the file grants nothing, and what to do. */
  readonly problem?: string
}

/**
 * What a person has allowed for good in one workspace. It lies among this program's own files, which no tool reads or changes. Other
 * processes of this program may use it at the same time.
 */
export interface Consents {
  readonly path: string
  /** Returns what the file holds now. A file that cannot be read or is invalid grants nothing. Never rejects. */
  readonly read: () => Promise<ConsentsNow>
  /** @throws ToolError `failed` if the rules could not be stored */
  readonly add: (rules: readonly ConsentRule[]) => Promise<void>
  /**
   * Removes the rules that match, or all of them if `matches` is absent, also those of an invalid file. Returns what it has removed.
   * @throws ToolError `failed`
   */
  readonly forget: (matches?: (rule: ConsentRule) => boolean) => Promise<readonly ConsentRule[]>
}

/** @param dataDir the folder of the data of all workspaces @param root the real path of the workspace */
export function openConsents(dataDir: string, root: string): Consents {
  const path = join(dataDir, folderId(root), 'consents.json')
  let known: { readonly text: string; readonly now: ConsentsNow } | undefined

  async function read(): Promise<ConsentsNow> {
    let text: string
    try {
      text = await nodeFs.readFile(path, 'utf8')
    } catch (error) {
      known = undefined
      if (errnoOf(error) === 'ENOENT') return { rules: [] }
      return { rules: [], problem: `${path} cannot be read, so it grants nothing: ${adviceFor(errnoOf(error))}.` }
    }
    if (known?.text !== text) known = { text, now: parse(text) }
    return known.now
  }

  function parse(text: string): ConsentsNow {
    try {
      return consentsFile.parse(JSON.parse(text))
    } catch {
      const problem = `${path} is invalid, so it grants nothing. To begin anew, run: copilot-proxy policy forget --all`
      return { rules: [], problem }
    }
  }

  async function change(next: (now: ConsentsNow) => readonly ConsentRule[]): Promise<void> {
    try {
      await nodeFs.mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const lock = await acquireLock(nodeFs, `${path}.lock`, LOCK_TIMES, undefined)
      try {
        const rules = next(await read())
        if (rules.length > maxRules) throw failed(`${path} already has ${maxRules} rules.`)
        if (!(await lock.isHeld())) throw failed(`Another program has changed ${path} at the same time.`)
        await replaceFile(nodeFs, path, `${JSON.stringify({ rules }, undefined, 2)}\n`)
      } finally {
        await lock.release()
      }
    } catch (error) {
      if (error instanceof ToolError) throw error
      if (error instanceof RecordStoreError) throw failed(error.message, error)
      throw failed(`${path} cannot be written: ${adviceFor(errnoOf(error))}.`, error)
    }
  }

  return {
    path,
    read,
    add: (rules) =>
      change((now) => {
        // A person may want to look at the file before it is lost.
        if (now.problem !== undefined) throw failed(now.problem)
        return joinRules(now.rules, rules)
      }),
    async forget(matches) {
      let removed: readonly ConsentRule[] = []
      await change((now) => {
        if (now.problem !== undefined && matches !== undefined) throw failed(now.problem)
        removed = now.rules.filter(matches ?? (() => true))
        return now.rules.filter((rule) => !removed.includes(rule))
      })
      return removed
    },
  }
}
