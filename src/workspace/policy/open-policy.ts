import { lstat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { errnoOf } from '../../auth/records/record-fs.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Folder } from '../folder.ts'
import type { MatchBudget } from '../glob.ts'
import { listFiles } from '../list-files.ts'
import { describeHosts, type HostPattern } from '../network/host-pattern.ts'
import { quote, ToolError } from '../tool-error.ts'
import {
  allowedHosts,
  denied,
  findDenial,
  judgeCommand,
  judgeDeniedRead,
  judgeRead,
  judgeUnruledWrite,
  judgeWrite,
  noPolicySentence,
  open,
  type LoadedPolicy,
} from './judge.ts'
import { ruleText } from './consent-rules.ts'
import type { Consents } from './consents.ts'
import { parsePolicy, policyName, type PolicyRules } from './policy-file.ts'
import type { Decision, Policy } from './policy.ts'
import { protectedPatterns, secretPatterns } from './protected-names.ts'

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
  readonly consents?: Pick<Consents, 'read'> | undefined
  readonly log: Logger
}

/**
 * Opens the rules of a workspace. Each decision reads the policy files of the folders from the root to the path and parses the
 * changed ones, so no decision uses an outdated file. There is no watcher.
 */
export function openPolicy(folder: Folder, { onChange, consents, log }: PolicyOptions): Policy {
  /** The policy files seen so far, by path. */
  const known = new Map<string, LoadedPolicy>()
  /** Whether the root's policy was read once. From then on, a new file counts as a change. */
  let hasLooked = false
  /** The versions of policies, by path, of which the log says that nobody has confirmed them. */
  const warned = new Map<string, string>()

  async function readTrusted(): Promise<Trusted> {
    const { rules } = (await consents?.read()) ?? { rules: [] }
    return new Map(rules.flatMap((rule) => ('trust' in rule ? [[rule.trust, rule.sha256]] : [])))
  }

  /** Returns undefined if the folder has no policy file. */
  async function load(inFolder: string, trusted: Promise<Trusted>): Promise<LoadedPolicy | undefined> {
    const loaded = await loadFile(inFolder)
    if (loaded === undefined) return undefined
    const isConfirmed = (await trusted).get(loaded.path) === loaded.version
    if (!isConfirmed && grants(loaded) && warned.get(loaded.path) !== loaded.version) {
      warned.set(loaded.path, loaded.version)
      log.warn({ file: loaded.path }, unconfirmedWarning)
    }
    return { ...loaded, isConfirmed }
  }

  /** Returns undefined if the folder has no policy file. */
  async function loadFile(inFolder: string): Promise<LoadedPolicy | undefined> {
    const path = inFolder === '' ? policyName : `${inFolder}/${policyName}`
    const read = await readPolicy(path)
    const before = known.get(path)
    if (read?.version === before?.version && (before === undefined || performance.now() < before.untilMs)) return before
    const loaded = read === undefined ? undefined : await parse(path, inFolder, read)
    // The file may have changed while a worker read it.
    if (loaded !== undefined && (await readPolicy(path))?.version !== loaded.version) return loadFile(inFolder)
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
    const loaded = { path, folder: inFolder, version, text: text ?? '', isConfirmed: false, untilMs: Infinity }
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

  /** Returns the policies that apply to a folder, outermost first. */
  async function policiesFor(inFolder: string): Promise<readonly LoadedPolicy[]> {
    const policies: LoadedPolicy[] = []
    const trusted = readTrusted()
    for (const each of foldersTo(inFolder)) {
      const policy = await load(each, trusted)
      if (each === '') hasLooked = true
      if (policy !== undefined) policies.push(policy)
    }
    return policies
  }

  /**
   * The root must have a policy, and all policies from there to the folder must allow it. The first one that denies it states the
   * reason, else all that are silent do. @param unruled the decision of a root without a policy
   */
  async function decide(
    inFolder: string,
    judge: (
      policy: LoadedPolicy,
      rules: PolicyRules,
      budget: MatchBudget,
      all: readonly LoadedPolicy[],
    ) => Decision | undefined,
    unruled = open(noPolicySentence),
  ): Promise<Decision> {
    if (segmentsOf(inFolder).length > maxDepth) return denied(`The path is in more than ${maxDepth} folders.`)
    const budget = { steps: stepsOfDecision }
    const policies = await policiesFor(inFolder)
    const decisions = policies[0]?.folder === '' ? [] : [unruled]
    for (const policy of policies) {
      if (!policy.content.ok) return denied(policy.content.problem)
      const decision = judge(policy, policy.content.rules, budget, policies)
      if (decision !== undefined) decisions.push(decision)
    }
    const denial = decisions.find(({ isAllowed, isOpen = false }) => !isAllowed && !isOpen)
    if (denial !== undefined) return denial
    const silent = decisions.filter(({ isOpen }) => isOpen)
    const unconfirmed = silent.flatMap((each) => each.unconfirmed ?? [])
    if (silent.length > 0) return { ...open(reasonOf(silent)), ...(unconfirmed.length > 0 && { unconfirmed }) }
    return { isAllowed: true, reason: reasonOf(decisions) }
  }

  /** Reads the policies of the workspace, the root's first. `isWhole`: there was time for all of them. */
  async function readAll(): Promise<{ readonly loaded: readonly LoadedPolicy[]; readonly isWhole: boolean }> {
    const signal = AbortSignal.timeout(describeMs)
    const { files } = await listFiles(folder, { glob: `**/${policyName}` }, signal).catch((error: unknown) => {
      // Without ripgrep, read only the root's policy.
      if (error instanceof ToolError) return { files: [] }
      throw error
    })
    const trusted = readTrusted()
    const root = await load('', trusted)
    hasLooked = true
    const loaded = root === undefined ? [] : [root]
    const inner = files.filter((path) => path !== policyName)
    // One at a time, because a malicious one takes long to read.
    for (const path of inner) {
      const policy = signal.aborted ? undefined : await load(parentOf(path), trusted)
      if (policy !== undefined) loaded.push(policy)
    }
    return { loaded, isWhole: !signal.aborted }
  }

  return {
    readRules: async () => {
      const loaded = new Map<string, Promise<LoadedPolicy | undefined>>()
      const trusted = readTrusted()
      const loadOnce = (inFolder: string): Promise<LoadedPolicy | undefined> => {
        const loading = loaded.get(inFolder) ?? load(inFolder, trusted)
        loaded.set(inFolder, loading)
        return loading
      }
      const root = await loadOnce('')
      hasLooked = true
      const policiesIn = (inFolder: string): Promise<readonly (LoadedPolicy | undefined)[]> => {
        return Promise.all(foldersTo(inFolder).map(loadOnce))
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
      return decide(
        parentOf(path),
        (policy, rules, budget) => judgeWrite(policy, rules, path, budget),
        judgeUnruledWrite(path),
      )
    },

    mayRun: async (argv, cwd = '') => {
      const inFolder = normalForm(folder, cwd)
      if (typeof inFolder !== 'string') return inFolder
      if (argv[0] === undefined || argv[0] === '') return denied('The command names no program.')
      let hosts: readonly HostPattern[] = []
      const decision = await decide(inFolder, (policy, rules, budget, all) => {
        hosts = allowedHosts(all)
        return judgeCommand(policy, rules, { argv, cwd: inFolder, all, budget })
      })
      if (!decision.isAllowed || hosts.length === 0) return decision
      const reason = `${decision.reason} In the sandbox, it reaches ${describeHosts(hosts)}.`
      return { ...decision, reason, network: { hosts } }
    },

    describe: async () => {
      const { loaded, isWhole } = await readAll()
      const root = loaded.find((each) => each.folder === '')
      const problems = loaded.flatMap(({ content }) => (content.ok ? [] : [content.problem]))
      if (!isWhole) problems.push('Reading the policies of inner folders takes too long, so some are not listed.')
      const consented = (await consents?.read()) ?? { rules: [] }
      if (consented.problem !== undefined) problems.push(consented.problem)
      const rules = root?.content.ok === true ? root.content.rules : undefined
      return {
        files: loaded.map(({ path }) => path),
        unconfirmed: loaded.filter((each) => !each.isConfirmed && grants(each)).map(({ path }) => path),
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
        shell: {
          allow: (rules?.allowedCommands ?? []).map((rule) =>
            rule.in === undefined ? rule.argv : { argv: rule.argv, in: rule.in },
          ),
          network: (rules?.network ?? []).map(({ text }) => text),
        },
        always: consented.rules.filter((rule) => !('trust' in rule)).map(ruleText),
        problem: problems.length === 0 ? undefined : problems.join('\n'),
      }
    },

    unconfirmed: async () =>
      (await readAll()).loaded.flatMap((each) => {
        const { path, version: sha256, text, isConfirmed, content } = each
        return isConfirmed || !content.ok ? [] : [{ path, sha256, text }]
      }),

    close: () => known.clear(),
  }
}

/** SHA-256 of the policy files that a person has confirmed, by path. */
type Trusted = ReadonlyMap<string, string>

const unconfirmedWarning =
  'The policy came with the folder or has changed, so it allows nothing until you have confirmed it. Run: copilot-proxy policy trust'

/** Whether a policy has a list that allows something. */
function grants({ content }: LoadedPolicy): boolean {
  if (!content.ok) return false
  const { allowedSecrets = [], allowedWrites = [], allowedCommands = [], network = [] } = content.rules
  return allowedSecrets.length + allowedWrites.length + allowedCommands.length + network.length > 0
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

/** Returns the folders from the root ('') to a folder, outermost first. */
function foldersTo(folder: string): readonly string[] {
  const segments = segmentsOf(folder)
  return ['', ...segments.map((_, index) => segments.slice(0, index + 1).join('/'))]
}

function reasonOf(decisions: readonly Decision[]): string {
  return decisions.map(({ reason }) => reason).join(' ')
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function parentOf(path: string): string {
  const parent = posix.dirname(path)
  return parent === '.' ? '' : parent
}

function problemOf(sentence: string): { readonly version: string } {
  return { version: sentence }
}

function readOnlySentence(path: string, problem: string, mayDenyReads: boolean): string {
  const scope = path === policyName ? 'The workspace' : `The folder ${quote(parentOf(path))}`
  const effect = mayDenyReads ? 'can be neither read nor changed' : 'is read-only'
  return `${scope} ${effect}, because its policy is invalid. ${problem}${/[.?]$/.test(problem) ? '' : '.'}`
}
