import { lstat, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { policyName } from '../policy/policy-file.ts'

const renamedPolicy = `${policyName}.made-by-a-command`

/** Whether the root has a policy, or something else of that name. */
export async function hasPolicy(root: string): Promise<boolean> {
  return (await lstat(join(root, policyName)).catch(() => undefined)) !== undefined
}

/** Renames a policy that a command has made, because a command must not make the rules for commands. Returns a sentence if it did. */
export async function setPolicyAside(root: string): Promise<readonly string[]> {
  if (!(await hasPolicy(root))) return []
  try {
    await rename(join(root, policyName), join(root, renamedPolicy))
    return [`The command has made ${policyName}, which was renamed to ${renamedPolicy}. Only a person may make rules.`]
  } catch {
    return [`The command has made ${policyName}, which could not be renamed. Check it.`]
  }
}

/**
 * Removes a file from the folders of git that makes git obey another folder. Only the folders of linked worktrees have one, and
 * bubblewrap can protect only files that exist.
 */
export async function removeGitPointers(folders: readonly string[]): Promise<void> {
  await Promise.all(
    folders.map(async (folder) => {
      // A command may have replaced the folder by a link to a folder outside.
      if ((await realpath(folder).catch(() => '')) !== folder) return
      await rm(join(folder, 'commondir'), { recursive: true, force: true })
    }),
  )
}
