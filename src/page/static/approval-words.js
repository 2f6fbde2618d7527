// The page and the terminal describe an approval in the same words. This module imports types alone, so that both can load it.

/**
 * @import { ApprovalDecision, IntendedFile, RecordedApproval } from '../../api/run.ts'
 * @typedef {Pick<IntendedFile, 'path' | 'change'> & Partial<IntendedFile>} FileRow
 * @typedef {Pick<RecordedApproval, 'tool'> & Partial<RecordedApproval>} Approval
 */

/** @type {Readonly<Record<string, string>>} */
const verbs = {
  created: 'Create',
  modified: 'Change',
  deleted: 'Delete',
  renamed: 'Rename',
  copied: 'Copy',
}

/**
 * Returns one row for each file of the change. A daemon that lists no files still lists their paths.
 * @param {Pick<Approval, 'files' | 'paths'>} approval
 * @returns {readonly FileRow[]}
 */
export function rowsOf({ files, paths = [] }) {
  return files ?? paths.map((path) => ({ path, change: 'modified' }))
}

/**
 * Returns the question, with the number of files.
 * @param {Omit<Approval, 'always'>} approval
 * @param {(text: string) => string} show makes hidden characters of a path visible
 * @returns {string}
 */
export function questionOf({ tool, argv, widening, reads, files, paths, diff, plan, policy }, show) {
  if (plan !== undefined) return 'Accept this plan?'
  if (policy !== undefined) return `Let tools do what ${show(policy.path)} allows?`
  if (widening !== undefined) return (wideningWords[widening] ?? unknownWidening).question
  if (argv !== undefined) return 'Run this command?'
  if (reads !== undefined) return `Let the agent read ${reads.map(show).join(', ')}?`
  const rows = rowsOf({ files, paths })
  const [first] = rows
  if (rows.length > 1) return `Change ${rows.length} files?`
  if (first !== undefined) return `${verbs[first.change] ?? 'Change'} ${nameOf(first, show)}?`
  return diff === undefined ? `Call ${show(tool)}?` : 'Change these files?'
}

/** @type {Readonly<Record<string, { readonly question: string; readonly sentence: string }>>} */
const wideningWords = {
  network: {
    question: 'Run this command again with network?',
    sentence:
      'It failed, perhaps because the sandbox has no network. With it, the command can send what it reads to any public host.',
  },
  unsandboxed: {
    question: 'Run this command again without the sandbox?',
    sentence:
      'It failed, perhaps because of the sandbox. Without it, the command can read, change and send everything that you can, on the whole machine.',
  },
}

const changedSentence =
  'The words are the same, but the first run may have changed the files that they name or start, and a command can print any message to get this question.'

const unknownWidening = {
  question: 'Run this command again beyond the sandbox?',
  sentence: 'This version does not know what the command could then do. Refuse it unless you know.',
}

/**
 * Returns what a person should know before a command runs beyond the sandbox.
 * @param {string} widening
 * @returns {string}
 */
export function wideningSentence(widening) {
  return `${(wideningWords[widening] ?? unknownWidening).sentence} ${changedSentence}`
}

/**
 * @param {FileRow} row
 * @param {(text: string) => string} show
 * @returns {string} the path; for a renamed or copied file also the old one
 */
export function nameOf({ path, from }, show) {
  return from === undefined ? show(path) : `${show(from)} → ${show(path)}`
}

/**
 * Returns everything that happens to a file.
 * @param {FileRow} row
 * @returns {string} e.g. `created, executable`
 */
export function changeOf({ change, executable, added, removed }) {
  const isModeOnly = change === 'modified' && executable !== undefined && added === 0 && removed === 0
  const mode =
    executable === undefined
      ? []
      : executable
        ? [change === 'created' ? 'executable' : 'made executable']
        : ['no longer executable']
  const isEmpty = change === 'created' && added === 0
  return [
    ...(isModeOnly ? [] : [change === 'modified' ? 'changed' : change]),
    ...(isEmpty ? ['empty'] : []),
    ...mode,
  ].join(', ')
}

/**
 * Returns why a person has to decide, and no rule does.
 * @param {Pick<Approval, 'closed'>} approval
 * @returns {readonly string[]} sentences
 */
export function closedSentences({ closed = [] }) {
  return closed.length === 0 ? [] : ['This happens only if you allow it.', ...closed]
}

/**
 * Returns what the decision `always` allows, before the rules themselves.
 * @param {Pick<Approval, 'always'>} approval
 */
export function alwaysPhrase({ always = [] }) {
  return `"Always" allows the agent in this workspace what ${always.length === 1 ? 'this rule says' : `these ${always.length} rules say`}:`
}

/** What a person should know before they confirm a policy. */
export const policySentence =
  'This policy came with the folder or has changed, so it allows nothing yet; what it denies holds. Once you confirm it, it holds for all callers, also for those that ask nobody.'

/** What a person should know before they accept a plan. */
export const planSentence =
  'Until you accept it, the run changes nothing and runs nothing. Afterwards it carries the plan out, and asks before changes and commands as usual.'

/**
 * Whether a person has accepted the plan of a run, which goes on in the mode `agent` then. Only a pending approval has the plan.
 * @param {{ readonly tool: string, readonly state: string }} approval
 */
export function isAcceptedPlan({ tool, state }) {
  return tool === 'mcp.plan.submit' && !['pending', 'refuse', 'expired'].includes(state)
}

/** What a person should know before they let a tool read a secret. */
export const secretSentence =
  'The file looks like a secret. The model and its provider will see what the tool finds in it.'

/** An approval with a long diff or long arguments does not have the whole of them. */
export const truncatedSentence = 'This is too long to show whole. Refuse it unless you know the remainder.'

/**
 * Returns the words for the decision for the whole run. It covers the files, the command, the secret or the tool that is shown.
 * @param {Pick<Approval, 'argv' | 'paths' | 'files'>} approval
 * @returns {string}
 */
export function forRunOf({ argv, paths, files }) {
  const count = argv === undefined ? rowsOf({ files, paths }).length : 0
  return count === 0 ? 'for this run' : count === 1 ? 'this file for this run' : 'these files for this run'
}

/**
 * Returns whether a decision can be made. Protected files are asked for each time, and not every call has a rule that is narrow enough.
 * @param {Pick<Approval, 'decisions'>} approval
 * @param {ApprovalDecision} decision
 */
export function mayChoose({ decisions }, decision) {
  return decisions === undefined ? decision !== 'always' : decisions.includes(decision)
}
