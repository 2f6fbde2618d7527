import type { Session } from './session.ts'
import type { Intent } from './tool.ts'
import { denied } from '../workspace/tool-error.ts'

export const readOnlySentence =
  'This workspace is read-only. To allow changes, set its read-only in workspaces, or workspace.read-only for all, to false in the configuration.'

export const lockedSentence =
  'This workspace is locked, so no tool of another program is called. To allow these tools, set its read-only in workspaces, or ' +
  'workspace.read-only for all, to true or false in the configuration.'

const newPolicySentence =
  'A command is running that started while the workspace had no policy, so a policy that is there now allows nothing. ' +
  'Wait until the command has ended.'

/**
 * Resolves with the reasons of the policy if `read-only` of the workspace, the policy and the file permissions allow the writes and
 * the command. Refuses this program's own files first, whatever the policy says.
 * @throws ToolError `denied`; `failed` for a file that cannot be written
 */
export async function passGates(
  { folder, policy }: Pick<Session, 'folder' | 'policy'>,
  isReadOnly: boolean,
  { writes = [], argv, policyArgv = argv, cwd }: Intent,
): Promise<readonly string[]> {
  for (const path of [...writes, ...(cwd === undefined ? [] : [cwd])]) await folder.refuseOwn(path)
  if (isReadOnly) throw denied(readOnlySentence)
  if (folder.sandbox.distrustsPolicy()) throw denied(newPolicySentence)
  const reasons: string[] = []
  for (const path of writes) {
    const decision = await policy.mayWrite(folder.relativePath(path))
    if (!decision.isAllowed) throw denied(decision.reason)
    reasons.push(decision.reason)
    await folder.checkWritable(path)
  }
  if (policyArgv === undefined) return reasons
  const decision = await policy.mayRun(policyArgv, cwd)
  if (!decision.isAllowed) throw denied(decision.reason)
  return [...reasons, decision.reason]
}
