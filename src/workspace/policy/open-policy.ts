import { lstat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { errnoOf } from '../../auth/records/record-fs.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Folder } from '../folder.ts'
import type { MatchBudget } from '../glob.ts'
import { listFiles } from '../list-files.ts'
import { ToolError } from '../tool-error.ts'
import { parsePolicy, policyName, type PolicyRules } from './policy-file.ts'
import type { Decision, Policy, ReadDecision } from './policy.ts'
import { protectedPatterns, protectionOf, secretOf, secretPatterns, type Protection } from './protected-names.ts'

/** Much larger than a policy that a person writes. Bytes. */
const maxPolicyBytes = 64 * 1024

/** Limits the comparisons of globs with one path. Takes some ten milliseconds; honest policies need a hundredth. */
const stepsOfDecision = 2_000_000

/** As `stepsOfDecision`, for each path that tools list or search. */
const stepsOfRead = 20_000

/** Deeper paths are denied, because each folder above a path may have a policy. */
const maxDepth = 100

/** Time to read all policies of a workspace for a description. Ms. */
const describeMs = 5000

/** A policy that could not be read, e.g. because the machine was busy, is tried again after this time. Ms. */
const retryMs = 30_000

interface PolicyOptions {
  /** Called with the first decision after the root's policy has appeared, or a policy has changed or was removed. */
  readonly onChange?: () => void
  readonly log: Logger
}

interface LoadedPolicy {
  /** Path of the policy file, relative to the root. */
  readonly path: string
  /** Folder of the policy file, relative to the root. */
  readonly folder: string
  /** The hash of the file or the text of the problem. Equal if nothing has changed. */
  readonly version: string
  /** When to read it again, although it has not changed. Monotonic; Ms. */
  readonly untilMs: number
  readonly content:
    | { readonly ok: true; readonly rules: PolicyRules }
    /** `problem` is a sentence with the file's path. */
    | { readonly ok: false; readonly problem: string; readonly mayDenyReads: boolean }
}

const noPolicy =
  `There is no ${policyName} in the workspace, so nothing may be written or run. ` +
  'To create one, run: copilot-proxy policy init'

/**
 * Opens the rules of a workspace. Each decision reads the policy files of the folders from the root to the path and parses the
 * changed ones, so no decision uses an outdated file. There is no watcher.
 */
export function openPolicy(folder: Folder, { onChange, log }: PolicyOptions): Policy {
  /** The policy files seen so far, by path. */
  const known = new Map<string, LoadedPolicy>()
  /** Whether the root's policy was read once. From then on, a new file counts as a change. */
  let hasLooked = false

  /** Returns undefined if the folder has no policy file. */
  async function load(inFolder: string): Promise<LoadedPolicy | undefined> {
    const path = inFolder === '' ? policyName : `${inFolder}/${policyName}`
    const read = await readPolicy(path)
    const before = known.get(path)
    if (read?.version === before?.version && (before === undefined || performance.now() < before.untilMs)) return before
    const loaded = read === undefined ? undefined : await parse(path, inFolder, read)
    // The file may have changed while a worker read it.
    if (loaded !== undefined && (await readPolicy(path))?.version !== loaded.version) return load(inFolder)
    // Another decision may have read the same file meanwhile.
    if (known.get(path) !== before && known.get(path)?.version === read?.version) return known.get(path)
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
      // Refuse a link, because its target may be a file that tools may write.
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

  async function parse(
    path: string,
    inFolder: string,
    { version, text }: { readonly version: string; readonly text?: string },
  ): Promise<LoadedPolicy> {
    const loaded = { path, folder: inFolder, version, untilMs: Infinity }
    const invalid = (problem: string, mayDenyReads: boolean): LoadedPolicy['content'] => {
      return { ok: false, problem: readOnlySentence(path, problem, mayDenyReads), mayDenyReads }
    }
    if (text === undefined) return { ...loaded, content: invalid(version, true) }
    // A comment that mentions reads denies nothing.
    const mayDenyReads = /^[^#\n]*\breads\b/m.test(text)
    try {
      const parsed = await parsePolicy(text, folder)
      const content = parsed.ok ? parsed : invalid(`${path}:${parsed.line}: ${parsed.detail}`, mayDenyReads)
      return { ...loaded, content }
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
      return { ...loaded, untilMs: performance.now() + retryMs, content: invalid(error.message, mayDenyReads) }
    }
  }

  /** Returns the policies that apply to a folder, outermost first, or undefined if the root has none. */
  async function policiesFor(inFolder: string): Promise<readonly LoadedPolicy[] | undefined> {
    const root = await load('')
    hasLooked = true
    if (root === undefined) return undefined
    const policies = [root]
    const segments = segmentsOf(inFolder)
    for (const index of segments.keys()) {
      const inner = await load(segments.slice(0, index + 1).join('/'))
      if (inner !== undefined) policies.push(inner)
    }
    return policies
  }

  /** All policies from the root to the folder must allow it. The first one that does not states the reason. */
  async function decide(
    inFolder: string,
    judge: (policy: LoadedPolicy, rules: PolicyRules, budget: MatchBudget) => Decision | undefined,
  ): Promise<Decision> {
    if (segmentsOf(inFolder).length > maxDepth) return denied(`The path is in more than ${maxDepth} folders.`)
    const budget = { steps: stepsOfDecision }
    const policies = await policiesFor(inFolder)
    if (policies === undefined) return denied(noPolicy)
    const reasons: string[] = []
    for (const policy of policies) {
      if (!policy.content.ok) return denied(policy.content.problem)
      const decision = judge(policy, policy.content.rules, budget)
      if (decision?.isAllowed === false) return decision
      if (decision !== undefined) reasons.push(decision.reason)
    }
    return { isAllowed: true, reason: reasons.join(' ') }
  }

  return {
    readRules: async () => {
      const loaded = new Map<string, Promise<LoadedPolicy | undefined>>()
      const loadOnce = (inFolder: string): Promise<LoadedPolicy | undefined> => {
        const loading = loaded.get(inFolder) ?? load(inFolder)
        loaded.set(inFolder, loading)
        return loading
      }
      const root = await loadOnce('')
      hasLooked = true
      const policiesIn = (inFolder: string): Promise<readonly (LoadedPolicy | undefined)[]> => {
        const segments = segmentsOf(inFolder)
        const folders = ['', ...segments.map((_, index) => segments.slice(0, index + 1).join('/'))]
        return Promise.all(folders.map(loadOnce))
      }
      const shared = { steps: stepsOfDecision }
      /** A search decides about thousands of paths, each of which adds what an honest policy needs for it. */
      const budget = (): MatchBudget => {
        shared.steps = Math.min(shared.steps + stepsOfRead, stepsOfDecision)
        return shared
      }
      return {
        decide: async (path) => judgeRead(await policiesIn(parentOf(path)), path, budget()),
        deniedIn: async (inFolder) => {
          const policies = await policiesIn(inFolder)
          return (path) => findDenial(policies, path, budget()) !== undefined
        },
        isDeniedByRoot: (path) => root !== undefined && judgeDeniedRead(root, path, budget()) !== undefined,
      }
    },

    mayWrite: async (given) => {
      const path = normalForm(folder, given)
      if (typeof path !== 'string') return path
      if (path === '') return denied('The path is the workspace itself, which is a folder.')
      return decide(parentOf(path), (policy, rules, budget) => judgeWrite(policy, rules, path, budget))
    },

    mayRun: async (argv, cwd = '') => {
      const inFolder = normalForm(folder, cwd)
      if (typeof inFolder !== 'string') return inFolder
      if (argv[0] === undefined || argv[0] === '') return denied('The command names no program.')
      return decide(inFolder, (policy, rules) => judgeCommand(policy, rules, argv, inFolder))
    },

    describe: async () => {
      const signal = AbortSignal.timeout(describeMs)
      const { files } = await listFiles(folder, { glob: `**/${policyName}` }, signal).catch((error: unknown) => {
        // Without ripgrep, describe only the root's policy.
        if (error instanceof ToolError) return { files: [] }
        throw error
      })
      const root = await load('')
      hasLooked = true
      const loaded = root === undefined ? [] : [root]
      const inner = files.filter((path) => path !== policyName)
      // Without a policy at the root, inner policies have no effect. One at a time, because a malicious one takes long to read.
      for (const path of root === undefined || signal.aborted ? [] : inner) {
        const policy = signal.aborted ? undefined : await load(parentOf(path))
        if (policy !== undefined) loaded.push(policy)
      }
      const problems = loaded.flatMap(({ content }) => (content.ok ? [] : [content.problem]))
      if (signal.aborted) problems.push('Reading the policies of inner folders takes too long, so some are not listed.')
      const rules = root?.content.ok === true ? root.content.rules : undefined
      return {
        files: loaded.map(({ path }) => path),
        reads: {
          allow: (rules?.allowedSecrets ?? []).map(({ text }) => text),
          deny: (rules?.deniedReads ?? []).map(({ text }) => text),
          secrets: secretPatterns,
        },
        writes: {
          allow: (rules?.allowedWrites ?? []).map(({ text }) => text),
          deny: (rules?.deniedWrites ?? []).map(({ text }) => text),
          protected: protectedPatterns,
        },
        shell: { allow: (rules?.allowedCommands ?? []).map(({ argv }) => argv) },
        problem: problems.length === 0 ? undefined : problems.join('\n'),
      }
    },

    close: () => known.clear(),
  }
}

/** @param policies of the folders from the root to the file; undefined for folders without one */
function judgeRead(policies: readonly (LoadedPolicy | undefined)[], path: string, budget: MatchBudget): ReadDecision {
  const denial = findDenial(policies, path, budget)
  if (denial !== undefined) return { ...denied(denial), isSecret: false }
  const secret = secretOf(path)
  if (secret === undefined) return { isAllowed: true, reason: 'Tools may read it.', isSecret: false }
  const [root, ...inner] = policies
  const naming = root === undefined ? undefined : namesSecret(root, path)
  const isNarrowed = inner.some((policy) => policy !== undefined && narrowsSecrets(policy, path))
  return naming === undefined || isNarrowed
    ? { ...denied(secretSentence(path, secret)), isSecret: true }
    : { isAllowed: true, reason: naming, isSecret: true }
}

function findDenial(
  policies: readonly (LoadedPolicy | undefined)[],
  path: string,
  budget: MatchBudget,
): string | undefined {
  for (const policy of policies) {
    const denial = policy === undefined ? undefined : judgeDeniedRead(policy, path, budget)
    if (denial !== undefined) return denial
  }
  return undefined
}

/** Returns why a policy does not let tools read a path, not considering that it may be a secret. */
function judgeDeniedRead(policy: LoadedPolicy, path: string, budget: MatchBudget): string | undefined {
  const { content } = policy
  if (!content.ok) {
    // The policy itself stays readable, so that it can be repaired.
    return content.mayDenyReads && path !== policy.path ? content.problem : undefined
  }
  try {
    const deny = content.rules.deniedReads.find(({ matches }) => matches(pathBelow(policy, path), budget))
    return deny && `${placeOf(policy, deny.line)} denies reading ${quote(deny.text)}.`
  } catch (error) {
    if (error instanceof ToolError) return tooSlow(policy)
    throw error
  }
}

/** Returns a sentence if the policy names the file exactly, for reading or writing: a patch shows what it changes. */
function namesSecret(policy: LoadedPolicy, path: string): string | undefined {
  if (!policy.content.ok) return undefined
  const { allowedSecrets = [], allowedWrites = [] } = policy.content.rules
  const named = [...allowedSecrets, ...allowedWrites].find(({ text }) => isExact(text, pathBelow(policy, path)))
  return named && `${placeOf(policy, named.line)} names ${quote(named.text)}.`
}

/** An inner policy without the list `reads.allow` does not narrow the one around it. */
function narrowsSecrets(policy: LoadedPolicy, path: string): boolean {
  const isSilent = policy.content.ok && policy.content.rules.allowedSecrets === undefined
  return !isSilent && namesSecret(policy, path) === undefined
}

function secretSentence(path: string, { pattern, reason }: Protection): string {
  return (
    `${quote(path)} looks like a secret: it matches ${quote(pattern)} (${reason}). ` +
    `To let tools read it, add its exact path to reads.allow in ${policyName} of the workspace.`
  )
}

function pathBelow({ folder }: LoadedPolicy, path: string): string {
  return folder === '' ? path : path.slice(folder.length + 1)
}

function isExact(entry: string, path: string): boolean {
  return entry === path || entry === `./${path}`
}

function tooSlow({ path }: LoadedPolicy): string {
  return `The globs of ${path} take too long to compare with the path.`
}

function judgeWrite(policy: LoadedPolicy, rules: PolicyRules, path: string, budget: MatchBudget): Decision | undefined {
  try {
    return judgeByGlobs(policy, rules, path, budget)
  } catch (error) {
    if (error instanceof ToolError) return denied(tooSlow(policy))
    throw error
  }
}

/** @throws ToolError if the budget is used up */
function judgeByGlobs(
  policy: LoadedPolicy,
  rules: PolicyRules,
  path: string,
  budget: MatchBudget,
): Decision | undefined {
  const below = pathBelow(policy, path)
  const deny = rules.deniedWrites.find(({ matches }) => matches(below, budget))
  if (deny !== undefined) return denied(`${placeOf(policy, deny.line)} denies ${quote(deny.text)}.`)
  const exact = rules.allowedWrites?.find(({ text }) => isExact(text, below))
  const allow = exact ?? rules.allowedWrites?.find(({ matches }) => matches(below, budget))
  const protection = exact === undefined ? protectionOf(path) : undefined
  const isInherited = rules.allowedWrites === undefined && policy.folder !== ''
  if (isInherited) return undefined
  if (protection !== undefined) {
    return denied(
      `${quote(path)} matches the protected pattern ${quote(protection.pattern)} (${protection.reason}). ` +
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

/** A program with a slash is a path. In an entry, it is relative to the policy's folder; in a call, to the working folder. */
function programIn(program: string, folder: string): string {
  return program.includes('/') && !program.startsWith('/') ? `./${posix.join(folder, program)}` : program
}

/** Returns the path relative to the root, or a decision that refuses it. */
function normalForm(folder: Folder, path: string): string | Decision {
  try {
    return folder.relativePath(path)
  } catch (error) {
    if (error instanceof ToolError) return denied(error.message)
    throw error
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
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

function readOnlySentence(path: string, problem: string, mayDenyReads: boolean): string {
  const scope = path === policyName ? 'The workspace' : `The folder ${quote(parentOf(path))}`
  const effect = mayDenyReads ? 'can be neither read nor changed' : 'is read-only'
  return `${scope} ${effect}, because its policy is invalid. ${problem}${/[.?]$/.test(problem) ? '' : '.'}`
}

/** Quotes a text for a message, short and on one line. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

function denied(reason: string): Decision {
  return { isAllowed: false, reason }
}
