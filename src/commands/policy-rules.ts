import { visibleLines } from '../terminal/visible.ts'
import { ruleText, type ConsentRule } from '../workspace/policy/consent-rules.ts'
import { openConsents, type Consents } from '../workspace/policy/consents.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { folderOf, openWorkspace } from './policy.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, PolicyFlags, PolicyForgetFlags } from './shared/command.ts'
import { loadSettings } from './shared/settings.ts'
import { findWorkspace, inHome } from './shared/workspace-folder.ts'

/** Takes back what a person has allowed the agent for good, or lists it. */
export async function policyForget(context: CommandContext, flags: PolicyForgetFlags): Promise<ExitCode> {
  const { rule, all, json } = flags
  const consents = await consentsOf(context, flags)
  const isListing = rule === undefined && !all
  const rules = isListing ? await listed(consents) : await forget(consents, rule)
  if (json) {
    writeJson(context, { [isListing ? 'always' : 'forgotten']: rules.map(ruleText) })
    return exitCode.done
  }
  const lines = rules.map((each) => `${isListing ? '' : 'Forgotten: '}${ruleText(each)}\n`)
  const none = isListing ? 'You have allowed the agent nothing always.\n' : 'There was nothing to forget.\n'
  context.stdout.write(visibleLines(lines.length === 0 ? none : lines.join('')))
  return exitCode.done
}

async function consentsOf(context: CommandContext, flags: PolicyFlags): Promise<Consents> {
  const { config, workspacesDir } = await loadSettings(context, undefined)
  const { path } = await findWorkspace(context, config, folderOf(context, flags))
  return openConsents(workspacesDir, (await openWorkspace(inHome(context, path))).root)
}

async function listed(consents: Consents): Promise<readonly ConsentRule[]> {
  const { rules, problem } = await consents.read()
  if (problem !== undefined) throw new CommandFailure(exitCode.failed, problem)
  return rules
}

/** @param text the rule as it is shown; absent: all of them */
async function forget(consents: Consents, text: string | undefined): Promise<readonly ConsentRule[]> {
  try {
    const forgotten = await consents.forget(text === undefined ? undefined : (each) => ruleText(each) === text)
    if (text === undefined || forgotten.length > 0) return forgotten
  } catch (cause) {
    if (cause instanceof ToolError) throw new CommandFailure(exitCode.failed, cause.message, { cause })
    throw cause
  }
  const message = `There is no rule ${JSON.stringify(text)}. To list the rules: copilot-proxy policy forget`
  throw new CommandFailure(exitCode.failed, message)
}
