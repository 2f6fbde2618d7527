import { splitCommand } from '../command-line.ts'
import type { Folder } from '../folder.ts'
import { parseGlob, type MatchBudget } from '../glob.ts'
import { parseHostPattern, type HostPattern } from '../network/host-pattern.ts'
import { foldCase } from '../paths.ts'
import { runInWorker } from '../run-code-task.ts'
import { ToolError } from '../tool-error.ts'
import { readPolicyText, type CommandEntry, type Entry, type PolicyLists, type PolicyText } from './policy-text.ts'
import { protectionOf } from './protected-names.ts'

export const policyName = '.agent-policy.yaml'

/** Even a malicious text of this length takes less than half a second. Characters. */
const maxTextHere = 4096

/** The worker ends itself before, unless the machine is very busy. Ms. */
const readMs = 30_000

interface PathRule extends Entry {
  /**
   * @param path relative to the folder of the policy file
   * @throws ToolError if the budget is used up
   */
  readonly matches: (path: string, budget: MatchBudget) => boolean
}

interface CommandRule extends CommandEntry {
  readonly argv: readonly string[]
  /**
   * Whether the entry names a folder. @param folder relative to the folder of the policy file
   * @throws ToolError if the budget is used up
   */
  readonly isIn: (folder: string, budget: MatchBudget) => boolean
}

interface HostRule extends Entry {
  readonly hosts: readonly HostPattern[]
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
  /** The hosts that commands may reach. Undefined if the list is absent. Then the policy of an inner folder does not narrow them. */
  readonly network: readonly HostRule[] | undefined
}

export type PolicyRead =
  | { readonly ok: true; readonly rules: PolicyRules }
  /** `detail` is a clause or sentence without a full stop. Lines and columns are counted from 1. */
  | { readonly ok: false; readonly line: number; readonly detail: string }

/**
 * Reads the text of a policy file. The file may be malicious, so a worker process reads the YAML of a long one.
 * @throws ToolError of `runInWorker`
 */
export async function parsePolicy(text: string, folder: Folder): Promise<PolicyRead> {
  const read = text.length <= maxTextHere ? readPolicyText(text) : await readInWorker(text, folder)
  return read.ok ? compile(read.lists, folder) : read
}

async function readInWorker(text: string, folder: Folder): Promise<PolicyText> {
  const answer = await runInWorker({ do: 'policy', text }, { folder, signal: AbortSignal.timeout(readMs) })
  return answer.is === 'policy' ? answer.read : { ok: false, line: 1, detail: 'the file cannot be read' }
}

function compile(lists: PolicyLists, folder: Folder): PolicyRead {
  const { allowedSecrets, deniedReads, allowedWrites, deniedWrites, allowedCommands, network } = lists
  try {
    return {
      ok: true,
      rules: {
        allowedSecrets: allowedSecrets?.map(rule('reads.allow', (entry) => exactPath(entry, folder))),
        deniedReads: (deniedReads ?? []).map(
          rule('reads.deny', (entry) => ({ ...entry, matches: denyMatcher(entry.text, folder) })),
        ),
        allowedWrites: allowedWrites?.map(
          rule('writes.allow', (entry) => ({
            ...entry,
            matches: parseGlob(fromRoot(entry.text, folder), folder).matches,
          })),
        ),
        deniedWrites: (deniedWrites ?? []).map(
          rule('writes.deny', (entry) => ({ ...entry, matches: denyMatcher(entry.text, folder) })),
        ),
        allowedCommands: allowedCommands?.map(
          rule('shell.allow', (entry: CommandEntry) => ({
            ...entry,
            argv: splitCommand(entry.text),
            isIn: folderMatcher(entry.in ?? ['.'], folder),
          })),
        ),
        network: network?.map(rule('shell.network', (entry) => ({ ...entry, hosts: parseHostPattern(entry.text) }))),
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

/** Returns a function that compiles an entry. @throws InvalidEntry */
function rule<Each extends Entry, Rule>(list: string, compileEntry: (entry: Each) => Rule): (entry: Each) => Rule {
  return (entry) => {
    try {
      return compileEntry(entry)
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
      const reason = error.failure.kind === 'invalid_arguments' ? error.failure.detail : error.message
      throw new InvalidEntry(entry.line, `${list}: ${JSON.stringify(entry.text)} is not allowed here. ${reason}`)
    }
  }
}

/** All files may be read but secrets, and a pattern would name secrets that nobody thought of. @throws ToolError */
function exactPath(entry: Entry, folder: Folder): Entry {
  folder.relativePath(entry.text)
  if (!/[*?]/.test(entry.text)) return entry
  const detail = 'Only the exact path of a file is allowed here, without * and ?.'
  throw new ToolError({ kind: 'invalid_arguments', path: 'reads.allow', detail })
}

/**
 * Matches folders from the folder of the policy; `.` is that folder itself. A folder of other people's code, such as one in
 * `node_modules`, must be named exactly.
 */
function folderMatcher(texts: readonly string[], folder: Folder): CommandRule['isIn'] {
  const patterns = texts.map((text) => text.normalize('NFC').replaceAll(/^(?:\.?\/)+|\/+$/g, ''))
  const globs = patterns.filter((text) => !isOwnFolder(text)).map((text) => parseGlob(`./${text}`, folder))
  const isOwn = patterns.some(isOwnFolder)
  return (inFolder, budget) => {
    if (inFolder === '') return isOwn
    if (protectionOf(inFolder) !== undefined) return patterns.includes(inFolder)
    return globs.some(({ matches }) => matches(inFolder, budget))
  }
}

function isOwnFolder(pattern: string): boolean {
  return pattern === '' || pattern === '.'
}

/** `/dist` is `dist` in the folder of the policy, as in `.gitignore`, unless it is the path of the folder itself. */
function fromRoot(text: string, folder: Folder): string {
  const glob = text.normalize('NFC')
  if (!glob.startsWith('/') || glob.startsWith(`${folder.root}/`)) return glob
  return `./${glob.replace(/^\/+/, '')}`
}

/**
 * Also denies everything below a matching folder, and the name in other cases, because a file system may ignore case. Denying
 * too much is safe.
 */
function denyMatcher(text: string, folder: Folder): PathRule['matches'] {
  // `dist/` means the same as `dist`: a folder of that name anywhere, like in `.gitignore`. `lib/dist/**` includes the folder.
  const glob = fromRoot(text, folder)
    .replace(/^([^/]*[^/*])\/\*\*$/, './$1')
    .replace(/(?<=[^/*])\/\*\*$/, '')
    .replace(/(?<=[^/])\/+$/, '')
  const inFolder = glob.includes('/') ? `${glob}/**` : `**/${glob}/**`
  // In `{dist,lib/out}`, only the alternative without a slash matches in all folders.
  const below = glob.includes('{') ? [inFolder, `**/${glob}/**`] : [inFolder]
  const written = [glob, ...below]
  const globs = [...new Set([...written, ...written.map(foldCase)])].map((each) => parseGlob(each, folder))
  return (path, budget) => {
    const folded = foldCase(path)
    return globs.some((each) => each.matches(path, budget) || each.matches(folded, budget))
  }
}
