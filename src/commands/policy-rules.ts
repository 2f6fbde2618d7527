import { join } from 'node:path'
import { visible, visibleLines, visibleText } from '../terminal/visible.ts'
import { ruleText, type ConsentRule } from '../workspace/policy/consent-rules.ts'
import type { Consents } from '../workspace/policy/consents.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { folderOf, openRules } from './policy.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, PolicyFlags, PolicyForgetFlags, PolicyTrustFlags } from './shared/command.ts'
import { confirm } from './shared/confirm.ts'
import { loadSettings } from './shared/settings.ts'

/** Takes back what a person has allowed the agent for good, or lists it. */
export async function policyForget(context: CommandContext, flags: PolicyForgetFlags): Promise<ExitCode> {
  const { rule, all, json } = flags
  const { consents } = await openRulesOf(context, flags)
  const isListing = rule === undefined && !all
  const rules = isListing ? await listed(consents) : await forget(consents, rule)
  if (json) {
    writeJson(context, { [isListing ? 'always' : 'forgotten']: rules.map(ruleText) })
    return exitCode.done
  }
  const lines = rules.map((each) => `${isListing ? '' : 'Forgotten: '}${ruleText(each)}\n`)
  const none = isListing ? 'You have allowed nothing always.\n' : 'There was nothing to forget.\n'
  context.stdout.write(visibleLines(lines.length === 0 ? none : lines.join('')))
  return exitCode.done
}

async function openRulesOf(context: CommandContext, flags: PolicyFlags) {
  return openRules(context, await loadSettings(context, undefined), folderOf(context, flags))
}

/** Shows the policies of a workspace that nobody has confirmed as they are, and stores that the person confirms them. */
export async function policyTrust(context: CommandContext, flags: PolicyTrustFlags): Promise<ExitCode> {
  const { yes, json } = flags
  const { stdout } = context
  const { folder, consents, policy } = await openRulesOf(context, { workspace: flags.folder })
  const [waiting, { problem }] = await Promise.all([policy.unconfirmed(), policy.describe()])
  if (problem !== undefined) context.stderr.write(visibleLines(`${problem}\n`))
  const confirmed: string[] = []
  for (const { path, sha256, text } of waiting) {
    if (!json) stdout.write(`${visible(join(folder.root, path))}:\n\n${visibleText(text.trimEnd())}\n\n`)
    if (!yes && (json || !context.interactive)) continue
    if (!yes && !(await confirm(context, `Let tools do what ${path} allows?`))) continue
    await reportFailure(consents.add([{ trust: path, sha256 }]))
    confirmed.push(path)
  }
  const left = waiting.length - confirmed.length
  if (json)
    writeJson(context, {
      confirmed,
      unconfirmed: waiting.flatMap(({ path }) => (confirmed.includes(path) ? [] : path)),
    })
  else if (waiting.length === 0) stdout.write('There is no policy to confirm.\n')
  else if (left > 0) context.stderr.write(yes || context.interactive ? 'Not confirmed.\n' : nobodyToAsk)
  else stdout.write(visibleLines(`Confirmed: ${confirmed.join(', ')}\n`))
  return left > 0 || problem !== undefined ? exitCode.failed : exitCode.done
}

const nobodyToAsk = 'Nothing was confirmed: there is no terminal to ask on. To confirm it, add --yes.\n'

/** @throws CommandFailure in place of a ToolError */
async function reportFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (cause instanceof ToolError) throw new CommandFailure(exitCode.failed, cause.message, { cause })
    throw cause
  }
}

async function listed(consents: Consents): Promise<readonly ConsentRule[]> {
  const { rules, problem } = await consents.read()
  if (problem !== undefined) throw new CommandFailure(exitCode.failed, problem)
  return rules
}

/** @param text the rule as it is shown; absent: all of them */
async function forget(consents: Consents, text: string | undefined): Promise<readonly ConsentRule[]> {
  const matches = text === undefined ? undefined : (each: ConsentRule) => ruleText(each) === text
  const forgotten = await reportFailure(consents.forget(matches))
  if (text === undefined || forgotten.length > 0) return forgotten
  const message = `There is no rule ${JSON.stringify(text)}. To list the rules: copilot-proxy policy forget`
  throw new CommandFailure(exitCode.failed, message)
}
