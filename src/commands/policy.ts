import { isAbsolute, relative, resolve, sep } from 'node:path'
import { readOnlyModeOf } from '../config/schema.ts'
import type { ReadOnlyMode } from '../config/setting-types.ts'
import { silentLog } from '../logging/logger.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { splitCommand } from '../workspace/command-line.ts'
import type { Folder } from '../workspace/folder.ts'
import { coverRules, ruleText, type ConsentRule } from '../workspace/policy/consent-rules.ts'
import { openConsents } from '../workspace/policy/consents.ts'
import { openFolder } from '../workspace/open-folder.ts'
import { openPolicy } from '../workspace/policy/open-policy.ts'
import { createOwnPlaces, noPlaces, type OwnPlaces } from '../workspace/policy/own-places.ts'
import { policyName } from '../workspace/policy/policy-file.ts'
import { commandText } from '../workspace/policy/policy.ts'
import type { Decision, Policy, PolicyDescription } from '../workspace/policy/policy.ts'
import { describeSandbox, sandboxState } from '../workspace/sandbox/create-sandbox.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { passGates, type WriteAccess } from '../tools/pass-gates.ts'
import type { Intent } from '../tools/tool.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, PolicyCheckFlags, PolicyFlags } from './shared/command.ts'
import { findOwnPaths, loadSettings, type LoadedSettings } from './shared/settings.ts'
import { findWorkspace, inHome, realPathOf } from './shared/workspace-folder.ts'

/** Explains the rule for a path or a command, or prints the policy. Exits with 1 if it is denied or invalid. */
export async function policyCheck(context: CommandContext, flags: PolicyCheckFlags): Promise<ExitCode> {
  const { path, command } = flags
  const settings = await loadSettings(context, undefined)
  const { config } = settings
  const given = folderOf(context, flags)
  const { workspace, folder, consents, policy } = await openRules(context, settings, given)
  // Paths and commands are those of the folder that the user is in.
  const base = relative(folder.root, await realPathOf(given)).replaceAll(sep, '/')
  const readOnly = readOnlyModeOf(config, workspace)
  if (path === undefined && command === undefined) {
    const sandbox = describeSandbox(await sandboxState(config.workspace.sandbox))
    return printPolicy(context, flags, folder, { ...(await policy.describe()), readOnly, sandbox })
  }

  const access = { isReadOnly: readOnly !== false, isLocked: readOnly === 'locked' }
  const { decision, subject, rules = [] } = await judge({ folder, policy, base }, access, path, command)
  const stored = (await consents.read()).rules
  const always = decision.isOpen === true && rules.length > 0 && coverRules(stored, rules)
  const reading = path === undefined ? undefined : await decideReading({ folder, policy, base }, path)
  if (flags.json) {
    const read = reading && { allowed: reading.isAllowed, reason: reading.reason }
    const { isAllowed: allowed, isOpen: asks = false, reason } = decision
    writeJson(context, { ...subject, allowed, asks, always, reason, read })
  } else {
    context.stdout.write(visibleLines(`${inWords(decision)}\n`))
    if (always) {
      const text = `You have allowed it to the agent always: ${rules.map(ruleText).join(', ')}.`
      context.stdout.write(visibleLines(`${text} To take that back: copilot-proxy policy forget\n`))
    }
    if (reading !== undefined) context.stdout.write(visibleLines(`Reading: ${inWords(reading)}\n`))
  }
  return decision.isAllowed ? exitCode.done : exitCode.failed
}

interface WorkspaceRules {
  readonly folder: Folder
  readonly policy: Policy
  /** The folder to which paths and commands refer, relative to the root. */
  readonly base: string
}

/** Asks what the tools ask. A command of one word with spaces in it is a command line, as tools send it. */
async function judge(
  workspace: WorkspaceRules,
  access: WriteAccess,
  path: string | undefined,
  command: readonly string[] | undefined,
): Promise<{ readonly decision: Decision; readonly subject: object; readonly rules?: readonly ConsentRule[] }> {
  const [line] = command ?? []
  const { base } = workspace
  const place = base === '' ? {} : { cwd: base }
  const subject = command === undefined ? { path } : { argv: command, ...place }
  try {
    if (command === undefined) {
      const writes = [inBase(base, path ?? '')]
      const rules = writes.map((each) => ({ edit: workspace.folder.relativePath(each) }))
      return { decision: await decide(workspace, access, { writes }), subject, rules }
    }
    const argv = command.length === 1 && line !== undefined ? splitCommand(line) : command
    const rules = [{ run: [...argv], in: base }]
    return { decision: await decide(workspace, access, { argv, cwd: base }), subject: { argv, ...place }, rules }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    return { decision: { isAllowed: false, reason: error.message }, subject }
  }
}

/** @throws ToolError if the policy or the disk refuses it */
async function decide(workspace: WorkspaceRules, access: WriteAccess, intent: Intent): Promise<Decision> {
  const { reasons, closed } = await passGates(workspace, access, intent)
  const rules = reasons.join(' ')
  if (closed.length === 0) return { isAllowed: true, reason: rules }
  const ofPolicy = reasons.length === 0 ? [] : [`The policy alone would allow it: ${rules}`]
  return { isAllowed: false, isOpen: true, reason: [...closed, ...ofPolicy].join(' ') }
}

/** Whether the rules let a tool read a file without asking. */
async function decideReading({ folder, policy, base }: WorkspaceRules, given: string): Promise<Decision> {
  try {
    const path = folder.relativePath(inBase(base, given))
    await folder.refuseOwn(path)
    return await (await policy.readRules()).decide(path)
  } catch (error) {
    if (error instanceof ToolError) return { isAllowed: false, reason: error.message }
    throw error
  }
}

function inBase(base: string, path: string): string {
  return base === '' || isAbsolute(path) ? path : `${base}/${path}`
}

function inWords({ isAllowed, isOpen = false, reason }: Decision): string {
  const open = 'Needs a person: the agent asks first, and other callers are refused.'
  return `${isAllowed ? 'Allowed.' : isOpen ? open : 'Denied.'} ${reason}`
}

/** What the configuration adds to a policy. */
interface PlaceDescription {
  readonly readOnly: ReadOnlyMode
  readonly sandbox: string
}

function printPolicy(
  context: CommandContext,
  flags: PolicyFlags,
  folder: Folder,
  {
    files,
    unconfirmed,
    reads,
    writes,
    shell,
    always,
    readOnly,
    sandbox,
    problem,
  }: PolicyDescription & PlaceDescription,
): ExitCode {
  const outcome = problem === undefined ? exitCode.done : exitCode.failed
  if (flags.json) {
    writeJson(context, {
      workspace: folder.root,
      read_only: readOnly,
      files,
      unconfirmed,
      reads,
      writes,
      shell,
      always,
      sandbox,
      problem: problem ?? null,
    })
    return outcome
  }
  if (!files.includes(policyName)) {
    context.stdout.write(
      `${visible(folder.root)} has no ${policyName}: nothing is written or run without a question.\n` +
        'To create one, run: copilot-proxy policy init\n' +
        (always.length === 0 ? '' : list(alwaysTitle, always)),
    )
    return outcome
  }
  if (problem !== undefined) context.stderr.write(visibleLines(`${problem}\n`))
  context.stdout.write(
    list('Read-only', [readOnly === 'locked' ? lockedText : readOnly ? readOnlyText : writableText]) +
      list('Policy files', files) +
      (unconfirmed.length === 0 ? '' : list(unconfirmedTitle, unconfirmed)) +
      list('Secrets that may be read', reads.allow) +
      list('Reads denied', reads.deny) +
      list('Writes allowed', writes.allow) +
      list('Writes denied', writes.deny) +
      list('Denied unless named exactly', ['secrets, and files that other programs obey (--json lists the patterns)']) +
      list('Commands allowed', shell.allow.map(commandText)) +
      list('Hosts that commands reach in the sandbox', shell.network) +
      list(alwaysTitle, always) +
      list('Sandbox', [sandbox]),
  )
  return outcome
}

const unconfirmedTitle =
  'Not confirmed, so they allow nothing. To read and confirm them, run: copilot-proxy policy trust'
const alwaysTitle = 'What you have allowed the agent always'
const writableText = 'no: the policy decides'
const readOnlyText = 'yes: nothing is changed or run but what you allow the agent'
const lockedText = 'locked: nothing is changed or run, and no tool of another program is called'

function list(title: string, lines: readonly string[]): string {
  return `${title}\n${(lines.length === 0 ? ['nothing'] : lines).map((line) => `  ${visible(line)}\n`).join('')}`
}

/**
 * Opens the rules of the workspace that holds a folder, or of the folder itself.
 * @throws CommandFailure `failed`
 */
export async function openRules(
  context: CommandContext,
  { config, configFile, workspacesDir }: LoadedSettings,
  given: string,
) {
  const workspace = await findWorkspace(context, config, given)
  const ownPlaces = createOwnPlaces(findOwnPaths(context, configFile))
  const folder = await openWorkspace(inHome(context, workspace.path), ownPlaces)
  const consents = openConsents(workspacesDir, folder.root)
  return { workspace, folder, consents, policy: openPolicy(folder, { consents, log: silentLog }) }
}

export function folderOf(context: CommandContext, { workspace = '.' }: PolicyFlags): string {
  return resolve(context.workingDir(), workspace)
}

/** @throws CommandFailure `failed` */
export async function openWorkspace(path: string, ownPlaces: OwnPlaces = noPlaces): Promise<Folder> {
  try {
    return await openFolder(path, { ownPlaces })
  } catch (error) {
    if (error instanceof ToolError) throw new CommandFailure(exitCode.failed, error.message, { cause: error })
    throw error
  }
}
