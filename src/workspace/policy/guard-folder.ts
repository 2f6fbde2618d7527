import type { Folder, ReadLimits } from '../folder.ts'
import { ToolError } from '../tool-error.ts'
import type { Policy } from './policy.ts'

/**
 * Returns the folder with the rules of reading: no function reads what `reads.deny` denies, or a secret that the policy does not
 * name. The rules hold for the path as given and for the path to which links lead.
 * @param askToRead asks a person about a secret. `reason` says why it is one. Absent: nobody can be asked. @throws ToolError
 * @param noteSecret called before a secret is read or searched
 */
export function guardFolder(
  folder: Folder,
  policy: Policy,
  askToRead?: (path: string, reason: string) => Promise<void>,
  noteSecret: () => void = () => {},
): Folder {
  /** @throws ToolError `denied`, and the errors of `askToRead` */
  async function admit(path: string): Promise<void> {
    const { isAllowed, isSecret, reason } = await (await policy.readRules()).decide(path)
    if (!isAllowed) {
      // Nobody is asked for what the folder refuses anyway.
      await folder.refuseOwn(path)
      if (!isSecret || askToRead === undefined) throw new ToolError({ kind: 'denied', detail: reason })
      await askToRead(path, reason)
    }
    if (isSecret) noteSecret()
  }

  async function guarded<T>(
    given: string,
    limits: ReadLimits,
    read: (path: string, limits: ReadLimits) => Promise<T>,
  ): Promise<T> {
    const asked = folder.relativePath(given)
    await admit(asked)
    return read(given, {
      ...limits,
      async admit(path) {
        if (path !== asked) await admit(path)
        await limits.admit?.(path)
      },
    })
  }

  return {
    ...folder,
    readFile: (path, limits) => guarded(path, limits, folder.readFile),
    readStart: (path, limits) => guarded(path, limits, folder.readStart),
    async reading() {
      const [rules, own] = await Promise.all([policy.readRules(), folder.reading()])
      return {
        excludes: own.excludes,
        isHidden: (path) => own.isHidden(path) || rules.isDeniedByRoot(path),
        async hiddenIn(inFolder) {
          const [isOwn, isDenied] = await Promise.all([own.hiddenIn(inFolder), rules.deniedIn(inFolder)])
          return (path) => isOwn(path) || isDenied(path)
        },
        async maySearch(path) {
          const { isAllowed, isSecret } = await rules.decide(path)
          if (!isAllowed || !(await own.maySearch(path))) return false
          if (isSecret) noteSecret()
          return true
        },
      }
    },
  }
}
