import { lstat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { errnoOf } from '../../auth/records/record-fs.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Folder } from '../folder.ts'
import { listFiles } from '../list-files.ts'
import { ToolError } from '../tool-error.ts'
import { parsePolicy, policyName, type PolicyRules } from './policy-file.ts'
import type { Decision, Policy } from './policy.ts'
import { protectedGlobs, protectionOf } from './protected-names.ts'

/** A larger file is no policy that a person wrote. Bytes. */
const maxPolicyBytes = 64 * 1024

interface PolicyOptions {
  /** Called at the first decision after the root's policy has appeared, or a policy has changed or gone. */
  readonly onChange?: () => void
  readonly log: Logger
}

interface LoadedPolicy {
  /** Relative to the root. */
  readonly path: string
  /** Its folder, relative to the root. */
  readonly folder: string
  /** Of the bytes, or the problem: equal if nothing has changed. */
  readonly version: string
  /** A problem is a sentence with the file's path. */
  readonly content:
    | { readonly ok: true; readonly rules: PolicyRules }
    | { readonly ok: false; readonly problem: string }
}

const noPolicy =
  `There is no ${policyName} in the workspace, so nothing may be written or run. ` +
  'To create one, run: copilot-proxy policy init'

/**
 * The rules of a workspace. There is no watcher: every decision reads the policy files of the folders from the root to the
 * path, and parses those whose bytes have changed. A decision is never older than the files.
 */
export function openPolicy(folder: Folder, { onChange, log }: PolicyOptions): Policy {
  /** The policy files seen so far, by path. */
  const known = new Map<string, LoadedPolicy>()
  /** The root's policy has been looked for: from then on, a new file is a change. */
  let hasLooked = false

  /** Undefined without a file. */
  async function load(inFolder: string): Promise<LoadedPolicy | undefined> {
    const path = inFolder === '' ? policyName : `${inFolder}/${policyName}`
    const read = await readPolicy(path)
    const before = known.get(path)
    if (read?.version === before?.version) return before
    const loaded =
      read === undefined ? undefined : { path, folder: inFolder, version: read.version, content: contentOf(path, read) }
    if (loaded === undefined) known.delete(path)
    else known.set(path, loaded)
    const isChange = before !== undefined || (inFolder === '' && hasLooked)
    if (loaded?.content.ok === false) log.warn({ file: path }, loaded.content.problem)
    else if (isChange)
      log.info({ file: path }, loaded === undefined ? 'The policy is gone.' : 'The policy has changed.')
    if (isChange) onChange?.()
    return loaded
  }

  async function readPolicy(path: string): Promise<{ readonly version: string; readonly text?: string } | undefined> {
    try {
      // A link could lead to a file that the policy lets a tool write.
      if (!(await lstat(join(folder.root, path))).isFile()) return problemOf(`${path} is not a regular file.`)
      const { bytes, sha256 } = await folder.readFile(path, { maxBytes: maxPolicyBytes })
      return { version: sha256, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
    } catch (error) {
      const cause = error instanceof ToolError ? error.cause : error
      if (['ENOENT', 'ENOTDIR'].includes(errnoOf(cause))) return undefined
      if (error instanceof ToolError) return problemOf(error.message)
      if (error instanceof TypeError) return problemOf(`${path} is not UTF-8 text.`)
      return problemOf(`${path} could not be read (${errnoOf(error)}).`)
    }
  }

  function contentOf(
    path: string,
    read: { readonly version: string; readonly text?: string },
  ): LoadedPolicy['content'] {
    if (read.text === undefined) return { ok: false, problem: readOnlySentence(path, read.version) }
    const parsed = parsePolicy(read.text, folder)
    if (parsed.ok) return parsed
    return { ok: false, problem: readOnlySentence(path, `${path}:${parsed.line}: ${parsed.detail}`) }
  }

  /** The policies that hold in a folder, the root's first; undefined without one at the root. */
  async function policiesFor(inFolder: string): Promise<readonly LoadedPolicy[] | undefined> {
    const root = await load('')
    hasLooked = true
    if (root === undefined) return undefined
    const policies = [root]
    const segments = inFolder.split('/').filter((segment) => segment !== '')
    for (const index of segments.keys()) {
      const inner = await load(segments.slice(0, index + 1).join('/'))
      if (inner !== undefined) policies.push(inner)
    }
    return policies
  }

  /** All policies on the way must allow it; the first one that does not gives the reason. */
  async function decide(inFolder: string, judge: (policy: LoadedPolicy, rules: PolicyRules) => Decision | undefined) {
    const policies = await policiesFor(inFolder)
    if (policies === undefined) return denied(noPolicy)
    const reasons: string[] = []
    for (const policy of policies) {
      if (!policy.content.ok) return denied(policy.content.problem)
      const decision = judge(policy, policy.content.rules)
      if (decision?.isAllowed === false) return decision
      if (decision !== undefined) reasons.push(decision.reason)
    }
    return { isAllowed: true, reason: reasons.join(' ') }
  }

  return {
    mayWrite: async (given) => {
      const path = normalForm(folder, given)
      if (typeof path !== 'string') return path
      if (path === '') return denied('The path is the workspace itself, which is a folder.')
      return decide(parentOf(path), (policy, rules) => judgeWrite(policy, rules, path))
    },

    mayRun: async (argv, cwd = '') => {
      const inFolder = normalForm(folder, cwd)
      if (typeof inFolder !== 'string') return inFolder
      if (argv[0] === undefined || argv[0] === '') return denied('The command names no program.')
      return decide(inFolder, (policy, rules) => judgeCommand(policy, rules, argv, inFolder))
    },

    describe: async () => {
      const { files } = await listFiles(folder, { glob: `**/${policyName}` }, AbortSignal.timeout(5000)).catch(
        (error: unknown) => {
          // Without ripgrep, only the policy of the root can be read.
          if (error instanceof ToolError) return { files: [] }
          throw error
        },
      )
      const root = await load('')
      hasLooked = true
      const inner = await Promise.all(files.filter((path) => path !== policyName).map((path) => load(parentOf(path))))
      const loaded = [root, ...inner].filter((policy) => policy !== undefined)
      const problems = loaded.flatMap(({ content }) => (content.ok ? [] : [content.problem]))
      const rules = root?.content.ok === true ? root.content.rules : undefined
      return {
        // An inner policy without one at the root allows nothing, as everything else.
        files: root === undefined ? [] : loaded.map(({ path }) => path),
        writes: {
          allow: (rules?.allowedWrites ?? []).map(({ text }) => text),
          deny: [...(rules?.deniedWrites ?? []).map(({ text }) => text), ...protectedGlobs],
        },
        shell: { allow: (rules?.allowedCommands ?? []).map(({ argv }) => argv) },
        problem: problems.length === 0 ? undefined : problems.join('\n'),
      }
    },

    close: () => known.clear(),
  }
}

function judgeWrite(policy: LoadedPolicy, rules: PolicyRules, path: string): Decision | undefined {
  const below = policy.folder === '' ? path : path.slice(policy.folder.length + 1)
  const deny = rules.deniedWrites.find(({ matches }) => matches(below))
  if (deny !== undefined) return denied(`${placeOf(policy, deny.line)} denies ${quote(deny.text)}.`)
  const exact = rules.allowedWrites?.find(({ text }) => text === below || text === `./${below}`)
  const allow = exact ?? rules.allowedWrites?.find(({ matches }) => matches(below))
  const protection = exact === undefined ? protectionOf(path) : undefined
  const isInherited = rules.allowedWrites === undefined && policy.folder !== ''
  if (isInherited) return undefined
  if (protection !== undefined) {
    return denied(
      `${quote(path)} matches the protected pattern ${quote(protection)}. ` +
        `To allow it, add its exact path ${quote(below)} to writes.allow in ${policy.path}.`,
    )
  }
  if (allow === undefined) return denied(`No pattern of writes.allow in ${policy.path} matches ${quote(below)}.`)
  return { isAllowed: true, reason: `${placeOf(policy, allow.line)} allows ${quote(allow.text)}.` }
}

function judgeCommand(
  policy: LoadedPolicy,
  rules: PolicyRules,
  argv: readonly string[],
  cwd: string,
): Decision | undefined {
  if (rules.allowedCommands === undefined && policy.folder !== '') return undefined
  const wanted = [programIn(argv[0] ?? '', cwd), ...argv.slice(1)]
  const rule = rules.allowedCommands?.find((each) => {
    const allowed = [programIn(each.argv[0] ?? '', policy.folder), ...each.argv.slice(1)]
    return allowed.length === wanted.length && allowed.every((word, index) => word === wanted[index])
  })
  if (rule !== undefined) {
    return { isAllowed: true, reason: `${placeOf(policy, rule.line)} allows ${quote(rule.text)}.` }
  }
  const near = rules.allowedCommands?.find((each) => each.argv[0] === argv[0])
  const hint =
    near === undefined ? '' : ` ${placeOf(policy, near.line)} allows ${quote(near.text)}, but no other arguments.`
  return denied(`shell.allow in ${policy.path} does not contain the command ${quote(argv.join(' '))}.${hint}`)
}

/** A program with a slash is a path: relative to the folder of the policy in an entry, to the working folder in a call. */
function programIn(program: string, folder: string): string {
  return program.includes('/') && !program.startsWith('/') ? `./${posix.join(folder, program)}` : program
}

/** Relative to the root, or why it is refused. */
function normalForm(folder: Folder, path: string): string | Decision {
  try {
    return folder.relativePath(path)
  } catch (error) {
    if (error instanceof ToolError) return denied(error.message)
    throw error
  }
}

function parentOf(path: string): string {
  const parent = posix.dirname(path)
  return parent === '.' ? '' : parent
}

function placeOf({ path }: LoadedPolicy, line: number): string {
  return `${path}:${line}`
}

function problemOf(sentence: string): { readonly version: string } {
  return { version: sentence }
}

function readOnlySentence(path: string, problem: string): string {
  const scope = path === policyName ? 'The workspace' : `The folder ${quote(parentOf(path))}`
  return `${scope} is read-only, because its policy is invalid. ${problem}${problem.endsWith('.') ? '' : '.'}`
}

/** Of a text in a message: short, on one line. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

function denied(reason: string): Decision {
  return { isAllowed: false, reason }
}
