import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { quickShopFiles } from '../agent/shop.ts'
import { createUser } from '../commands/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

/** Creates a folder with a mistake, and a user who may change it. */
export async function openShopFolder(settings: Readonly<Record<string, string>>) {
  const root = await makeFolder(quickShopFiles)
  const { home } = await createUser()
  await confirmPolicies(join(home, 'proxy', 'workspaces'), root)
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    COPILOT_PROXY_HOME: join(home, 'proxy'),
    COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false',
    ...settings,
  }
  return { root, home, env, total: () => readFile(join(root, 'src/total.js'), 'utf8') }
}
