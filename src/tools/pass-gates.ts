import type { Session } from './session.ts'
import type { Intent } from './tool.ts'
import { denied } from '../workspace/tool-error.ts'
import type { Decision, UnconfirmedPolicy } from '../workspace/policy/policy.ts'

const readOnlySentence =
  'This workspace is read-only. To let its policy decide, run copilot-proxy config set workspace.read-only false, or set its own read-only in workspaces.'

const lockedWay =
  'set its read-only in workspaces, or workspace.read-only for all, to true (a person is asked) or false (the policy decides) in ' +
  'the configuration.'

const lockedSentence = `This workspace is locked, so nothing is written or run, whoever asks. To change that, ${lockedWay}`

export const lockedForeignSentence = `This workspace is locked, so no tool of another program is called. To allow these tools, ${lockedWay}`

const newPolicySentence =
  'A command is running that started while the workspace had no policy, so a policy that is there now allows nothing. ' +
  'Wait until the command has ended.'

/** `read-only` of a workspace. */
export interface WriteAccess {
  /** It is not false. */
  readonly isReadOnly: boolean
  /** It is `locked`. Default: false */
  readonly isLocked?: boolean
}

/** What the gates say about an intent that nothing denies. */
export interface Passage {
  /** The rules that allow it, as sentences. */
  readonly reasons: readonly string[]
  /**
   * The gates that are closed, each as a sentence with the way to open it. Only a person can let the intent pass, for this time.
   * Empty: nobody has to be asked.
   */
  readonly closed: readonly string[]
  /** The policies that would allow it, if a person had confirmed them. */
  readonly unconfirmed: readonly UnconfirmedPolicy[]
}

/**
 * Checks `read-only` of the workspace, the policy and the file permissions. Refuses this program's own files first, whatever the
 * policy says.
 * @throws ToolError `denied` for what nobody can allow here; `failed` for a file that cannot be written
 */
export async function passGates(
  { folder, policy }: Pick<Session, 'folder' | 'policy'>,
  { isReadOnly, isLocked = false }: WriteAccess,
  { writes = [], argv, policyArgv = argv, cwd }: Intent,
): Promise<Passage> {
  for (const path of [...writes, ...(cwd === undefined ? [] : [cwd])]) await folder.refuseOwn(path)
  if (isLocked) throw denied(lockedSentence)
  const closed = new Set<string>()
  if (isReadOnly) closed.add(readOnlySentence)
  if (folder.sandbox.distrustsPolicy()) closed.add(newPolicySentence)
  const reasons: string[] = []
  const unconfirmed = new Map<string, UnconfirmedPolicy>()
  const note = ({ isAllowed, isOpen = false, reason, ...decision }: Decision): void => {
    for (const each of decision.unconfirmed ?? []) unconfirmed.set(each.path, each)
    if (isAllowed) reasons.push(reason)
    else if (isOpen) closed.add(reason)
    else throw denied(reason)
  }
  for (const path of writes) {
    note(await policy.mayWrite(folder.relativePath(path)))
    await folder.checkWritable(path)
  }
  if (policyArgv !== undefined) note(await policy.mayRun(policyArgv, cwd))
  return { reasons, closed: [...closed], unconfirmed: [...unconfirmed.values()] }
}

/** Returns why an effect that only a person can allow is refused where nobody is asked. Names all closed gates. */
export function closedSentence(closed: readonly string[]): string {
  return ['Nothing was written or run, because only a person can allow it, and nobody is asked here.', ...closed].join(
    ' ',
  )
}
