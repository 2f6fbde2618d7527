import { hash } from 'node:crypto'
import { readdir, readFile, realpath } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { ConsentRule } from '../../../src/workspace/policy/consent-rules.ts'
import { openConsents, type Consents } from '../../../src/workspace/policy/consents.ts'

const name = '.agent-policy.yaml'

/**
 * Confirms all policies of a folder as they are now, like `copilot-proxy policy trust --yes`.
 * @param workspacesDir the folder of the data of all workspaces
 */
export async function confirmPolicies(workspacesDir: string, root: string): Promise<void> {
  const real = await realpath(root)
  const rules = await rulesOf(real)
  if (rules.length > 0) await openConsents(workspacesDir, real).add(rules)
}

/** Returns the consents of a person who confirms each policy of a folder at once, also after it has changed. */
export function confirming(root: string): Pick<Consents, 'read'> {
  return { read: async () => ({ rules: await rulesOf(root) }) }
}

async function rulesOf(root: string): Promise<readonly ConsentRule[]> {
  const rules = (await policiesIn(root, '')).map(async (path) => {
    // A test may remove it meanwhile, or make it something other than a file.
    const bytes = await readFile(join(root, path)).catch(() => undefined)
    return bytes === undefined ? [] : [{ trust: path, sha256: hash('sha256', bytes) }]
  })
  return (await Promise.all(rules)).flat()
}

/** Never rejects: a folder that is removed meanwhile has none. */
async function policiesIn(root: string, folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
  const inner = entries.filter((entry) => entry.isDirectory() && entry.name !== '.git')
  const found = await Promise.all(inner.map(({ name: own }) => policiesIn(root, posix.join(folder, own))))
  return [...(entries.some((entry) => entry.name === name) ? [posix.join(folder, name)] : []), ...found.flat()]
}
