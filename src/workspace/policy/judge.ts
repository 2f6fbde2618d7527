import { posix } from 'node:path'
import type { MatchBudget } from '../glob.ts'
import { intersectHosts, type HostPattern } from '../network/host-pattern.ts'
import { quote, ToolError } from '../tool-error.ts'
import { policyName, type PolicyRules } from './policy-file.ts'
import type { Decision, ReadDecision } from './policy.ts'
import { protectionOf, secretOf, type Protection } from './protected-names.ts'

export const noPolicySentence =
  `There is no ${policyName} in the workspace, so nothing is written or run without a question. ` +
  'To create one, run: copilot-proxy policy init'

/** A policy file that applies to a folder. */
export interface LoadedPolicy {
  /** Path of the policy file, relative to the root. */
  readonly path: string
  /** Folder of the policy file, relative to the root. */
  readonly folder: string
  /** The hash of the file or the text of the problem. Equal if nothing has changed. */
  readonly version: string
  readonly text: string
  /** Whether a person has confirmed this version. Else its rules deny, and allow nothing. */
  readonly isConfirmed: boolean
  /** When to read it again, although it has not changed. Monotonic; Ms. */
  readonly untilMs: number
  readonly content:
    | { readonly ok: true; readonly rules: PolicyRules }
    /** `problem` is a sentence with the file's path. */
    | { readonly ok: false; readonly problem: string; readonly mayDenyReads: boolean }
}

/** @param policies of the folders from the root to the file; undefined for folders without one */
export function judgeRead(
  policies: readonly (LoadedPolicy | undefined)[],
  path: string,
  budget: MatchBudget,
): ReadDecision {
  const denial = findDenial(policies, path, budget)
  if (denial !== undefined) return { ...denied(denial), isSecret: false }
  const secret = secretOf(path)
  if (secret === undefined) return { isAllowed: true, reason: 'Tools may read it.', isSecret: false }
  const [root, ...inner] = policies
  const naming = root === undefined ? undefined : namesSecret(root, path)
  const isNarrowed = inner.some((policy) => policy !== undefined && narrowsSecrets(policy, path))
  const unconfirmed = root?.isConfirmed === false && namesSecret({ ...root, isConfirmed: true }, path) !== undefined
  const sentence = `${secretSentence(path, secret)}${unconfirmed ? ` ${unconfirmedSentence(root)}` : ''}`
  return naming === undefined || isNarrowed
    ? { ...denied(sentence), isSecret: true }
    : { isAllowed: true, reason: naming, isSecret: true }
}

export function findDenial(
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
export function judgeDeniedRead(policy: LoadedPolicy, path: string, budget: MatchBudget): string | undefined {
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
  if (!policy.content.ok || !policy.isConfirmed) return undefined
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

export function judgeWrite(
  policy: LoadedPolicy,
  rules: PolicyRules,
  path: string,
  budget: MatchBudget,
): Decision | undefined {
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
  if (protection !== undefined) return denied(protectedSentence({ path, below, protection, policyPath: policy.path }))
  if (!policy.isConfirmed && exact !== undefined && protectionOf(path) !== undefined) {
    return denied(unconfirmedSentence(policy))
  }
  if (allow === undefined) {
    return open(`No pattern of writes.allow in ${policy.path} matches ${quote(below)}. To allow it, add a pattern.`)
  }
  return confirmed(policy, `${placeOf(policy, allow.line)} allows ${quote(allow.text)}.`)
}

/** Allows what a policy allows, if a person has confirmed it. */
function confirmed(policy: LoadedPolicy, reason: string): Decision {
  if (policy.isConfirmed) return { isAllowed: true, reason }
  const { path, version: sha256, text } = policy
  return { ...open(unconfirmedSentence(policy)), unconfirmed: [{ path, sha256, text }] }
}

function unconfirmedSentence({ path }: LoadedPolicy): string {
  return (
    `${path} would allow it, but it came with the folder or has changed, so it allows nothing until you have confirmed it. ` +
    'To read and confirm it, run: copilot-proxy policy trust'
  )
}

/** Judges a write in a workspace whose root has no policy. */
export function judgeUnruledWrite(path: string): Decision {
  const protection = protectionOf(path)
  if (protection === undefined) return open(noPolicySentence)
  return denied(protectedSentence({ path, below: path, protection, policyPath: policyName }))
}

interface ProtectedWrite {
  readonly path: string
  /** The path from the folder of the policy. */
  readonly below: string
  readonly protection: Protection
  readonly policyPath: string
}

function protectedSentence({ path, below, protection, policyPath }: ProtectedWrite): string {
  return (
    `${quote(path)} matches the protected pattern ${quote(protection.pattern)} (${protection.reason}). ` +
    `To allow it, add its exact path ${quote(below)} to writes.allow in ${policyPath}.`
  )
}

interface WantedCommand {
  readonly argv: readonly string[]
  readonly cwd: string
  /** The policies that apply to `cwd`, outermost first. */
  readonly all: readonly LoadedPolicy[]
  readonly budget: MatchBudget
}

export function judgeCommand(policy: LoadedPolicy, rules: PolicyRules, command: WantedCommand): Decision | undefined {
  const { argv, cwd, all } = command
  if (rules.allowedCommands === undefined && policy.folder !== '') return undefined
  const wanted = [programIn(argv[0] ?? '', cwd), ...argv.slice(1)]
  const same = (rules.allowedCommands ?? []).filter((each) => {
    const allowed = [programIn(each.argv[0] ?? '', policy.folder), ...each.argv.slice(1)]
    return allowed.length === wanted.length && allowed.every((word, index) => word === wanted[index])
  })
  const rule = findInFolder(policy, same, command)
  if (typeof rule === 'string') return denied(rule)
  if (rule !== undefined) {
    // A rule may hold only because the folder has a policy of its own.
    const own = rule.in === undefined && policy.folder !== cwd ? all.find(({ folder }) => folder === cwd) : undefined
    const unconfirmed = [policy, own].find((each) => each?.isConfirmed === false)
    return confirmed(unconfirmed ?? policy, `${placeOf(policy, rule.line)} allows ${quote(rule.text)}.`)
  }
  const [elsewhere] = same
  if (elsewhere !== undefined) {
    const { line, text, in: folders = [] } = elsewhere
    const places = folders.length === 0 ? nameOfFolder(policy.folder) : folders.join(', ')
    return open(
      `${placeOf(policy, line)} allows ${quote(text)} in ${places} only, and not in ${nameOfFolder(cwd)}. ` +
        `To allow it there, add to shell.allow: { run: ${JSON.stringify(text)}, in: ${JSON.stringify(pathBelow(policy, cwd) || '.')} }.`,
    )
  }
  const near = rules.allowedCommands?.find((each) => each.argv[0] === argv[0])
  const hint =
    near === undefined ? '' : ` ${placeOf(policy, near.line)} allows ${quote(near.text)}, but no other arguments.`
  return open(
    `shell.allow in ${policy.path} does not contain the command ${quote(argv.join(' '))}.${hint} To allow it, add the command.`,
  )
}

/**
 * Returns the hosts that commands may reach: those of the root's policy that each inner policy with a list allows too.
 * @param policies outermost first
 */
export function allowedHosts(policies: readonly LoadedPolicy[]): readonly HostPattern[] {
  const [root = [], ...inner] = policies.map(({ content, isConfirmed }) => {
    const hosts = content.ok ? content.rules.network?.flatMap((rule) => rule.hosts) : []
    return isConfirmed ? hosts : hosts && []
  })
  return inner.reduce<readonly HostPattern[]>(
    (hosts, each) => (each === undefined ? hosts : intersectHosts(hosts, each)),
    root,
  )
}

function nameOfFolder(folder: string): string {
  return folder === '' ? 'the root of the workspace' : quote(folder)
}

type CommandRule = NonNullable<PolicyRules['allowedCommands']>[number]

/**
 * Returns the first rule that holds in the working folder, or a text that states why none can be found. A rule without folders
 * also holds in a folder with a policy of its own, which may narrow it. The code in a folder such as `node_modules` is not the
 * user's, so a policy that came with it does not count.
 */
function findInFolder(
  policy: LoadedPolicy,
  rules: readonly CommandRule[],
  { cwd, all, budget }: WantedCommand,
): CommandRule | string | undefined {
  const hasOwn = protectionOf(cwd) === undefined && all.some(({ folder }) => folder === cwd)
  const below = cwd === policy.folder ? '' : pathBelow(policy, cwd)
  try {
    return rules.find((rule) => rule.isIn(below, budget) || (hasOwn && rule.in === undefined))
  } catch (error) {
    if (error instanceof ToolError) return tooSlow(policy)
    throw error
  }
}

/** A program with a slash is a path. In an entry, it is relative to the policy's folder; in a call, to the working folder. */
function programIn(program: string, folder: string): string {
  return program.includes('/') && !program.startsWith('/') ? `./${posix.join(folder, program)}` : program
}

function placeOf({ path }: LoadedPolicy, line: number): string {
  return `${path}:${line}`
}

export function denied(reason: string): Decision {
  return { isAllowed: false, reason }
}

/** No rule allows or denies it. */
export function open(reason: string): Decision {
  return { isAllowed: false, isOpen: true, reason }
}
