import { z } from 'zod'
import { settingFaults } from '../../config/problem.ts'
import { readYaml } from '../../config/yaml-document.ts'
import { splitCommand } from '../command-line.ts'
import type { Folder } from '../folder.ts'
import { parseGlob } from '../glob.ts'
import { foldCase } from '../paths.ts'
import { ToolError } from '../tool-error.ts'

export const policyName = '.agent-policy.yaml'

/** Maximum number of entries, which limits the time of a decision. */
const maxEntries = 1000

const entries = z
  .array(z.string('a text').min(1, 'a text that is not empty'), 'a list of texts')
  .max(maxEntries, `at most ${maxEntries} entries`)
  .nullish()

/** `.agent-policy.yaml`. A section or list may have no value, because all its entries may be comments. */
const policySchema = z.strictObject(
  {
    reads: z.strictObject({ allow: entries, deny: entries }, 'a table with allow and deny').nullish(),
    writes: z.strictObject({ allow: entries, deny: entries }, 'a table with allow and deny').nullish(),
    shell: z.strictObject({ allow: entries }, 'a table with allow').nullish(),
  },
  'a table with reads, writes and shell',
)

/** The text of a list entry. */
interface Entry {
  readonly text: string
  /** Counted from 1. */
  readonly line: number
}

interface PathRule extends Entry {
  /** @param path relative to the folder of the policy file */
  readonly matches: (path: string) => boolean
}

interface CommandRule extends Entry {
  readonly argv: readonly string[]
}

export interface PolicyRules {
  /**
   * Exact paths of files that look like secrets. Undefined if the list is absent. Then the policy of an inner folder does not
   * narrow reads.
   */
  readonly allowedSecrets: readonly Entry[] | undefined
  readonly deniedReads: readonly PathRule[]
  /** Undefined if the list is absent. Then the policy of an inner folder does not narrow writes. */
  readonly allowedWrites: readonly PathRule[] | undefined
  readonly deniedWrites: readonly PathRule[]
  readonly allowedCommands: readonly CommandRule[] | undefined
}

export type PolicyRead =
  | { readonly ok: true; readonly rules: PolicyRules }
  /** `detail` is a clause or sentence without a full stop. Lines and columns are counted from 1. */
  | { readonly ok: false; readonly line: number; readonly detail: string }

/** Reads the text of a policy file. */
export function parsePolicy(text: string, folder: Folder): PolicyRead {
  const read = readYaml(text)
  if (!read.ok) {
    const { position, key, detail } = read.fault
    return { ok: false, line: position.line, detail: key === '' ? detail : `${key}: ${detail}` }
  }
  const { value, locate } = read.value
  const tree = value ?? {}
  const parsed = policySchema.safeParse(tree, { jitless: true })
  if (!parsed.success) {
    const [first] = settingFaults(parsed.error.issues, tree, policySchema, [])
    const { path = [], part = 'value', detail = 'is invalid' } = first ?? {}
    return {
      ok: false,
      line: locate(path, part).line,
      detail: path.length === 0 ? detail : `${path.join('.')}: ${detail}`,
    }
  }

  const { reads, writes, shell } = parsed.data
  const lineOf = (path: readonly PropertyKey[]): number => locate(path, 'value').line
  try {
    return {
      ok: true,
      rules: {
        allowedSecrets: toRules(reads?.allow, ['reads', 'allow'], lineOf, (entry) => exactPath(entry, folder)),
        deniedReads:
          toRules(reads?.deny, ['reads', 'deny'], lineOf, (entry) => ({
            ...entry,
            matches: denyMatcher(entry.text, folder),
          })) ?? [],
        allowedWrites: toRules(writes?.allow, ['writes', 'allow'], lineOf, (entry) => ({
          ...entry,
          matches: parseGlob(entry.text.normalize('NFC'), folder).matches,
        })),
        deniedWrites:
          toRules(writes?.deny, ['writes', 'deny'], lineOf, (entry) => ({
            ...entry,
            matches: denyMatcher(entry.text, folder),
          })) ?? [],
        allowedCommands: toRules(shell?.allow, ['shell', 'allow'], lineOf, (entry) => ({
          ...entry,
          argv: splitCommand(entry.text),
        })),
      },
    }
  } catch (error) {
    if (error instanceof InvalidEntry) return { ok: false, line: error.line, detail: error.message }
    throw error
  }
}

class InvalidEntry extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** A list without a value allows nothing, like an empty one. */
function toRules<Rule>(
  texts: readonly string[] | null | undefined,
  path: readonly PropertyKey[],
  lineOf: (path: readonly PropertyKey[]) => number,
  compile: (entry: Entry) => Rule,
): readonly Rule[] | undefined {
  if (texts === undefined) return undefined
  return (texts ?? []).map((text, index) => {
    const line = lineOf([...path, index])
    try {
      return compile({ text, line })
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
      const reason = error.failure.kind === 'invalid_arguments' ? error.failure.detail : error.message
      throw new InvalidEntry(line, `${path.join('.')}: ${JSON.stringify(text)} is not allowed here. ${reason}`)
    }
  })
}

/** All files may be read but secrets, and a pattern would name secrets that nobody thought of. @throws ToolError */
function exactPath(entry: Entry, folder: Folder): Entry {
  folder.relativePath(entry.text)
  if (!/[*?]/.test(entry.text)) return entry
  const detail = 'Only the exact path of a file is allowed here, without * and ?.'
  throw new ToolError({ kind: 'invalid_arguments', path: 'reads.allow', detail })
}

/**
 * Also denies everything below a matching folder, and the name in other cases, because a file system may ignore case. Denying
 * too much is safe.
 */
function denyMatcher(text: string, folder: Folder): (path: string) => boolean {
  // `dist/` means the same as `dist`: a folder of that name anywhere, like in `.gitignore`.
  const glob = text.normalize('NFC').replace(/(?<=[^/])\/+$/, '')
  const inFolder = glob.includes('/') ? `${glob}/**` : `**/${glob}/**`
  // In `{dist,lib/out}`, only the alternative without a slash matches in all folders.
  const below = glob.includes('{') ? [inFolder, `**/${glob}/**`] : [inFolder]
  const written = [glob, ...below]
  const globs = [...new Set([...written, ...written.map(foldCase)])].map((each) => parseGlob(each, folder))
  return (path) => {
    const folded = foldCase(path)
    return globs.some((each) => each.matches(path) || each.matches(folded))
  }
}
