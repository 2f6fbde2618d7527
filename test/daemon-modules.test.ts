import { execFile } from 'node:child_process'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeFolder } from './tools/session.ts'

const run = promisify(execFile)
const child = fileURLToPath(new URL('security/children/list-modules.ts', import.meta.url))

/** The modules that a daemon has loaded after its start and one request, from the root of the repository. */
async function loadedModules(config: string, ...more: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(execPath, [child, config, ...more])
  return stdout.split('\n')
}

const companion =
  /^src\/(?:workspace|tools|sessions|agent|gateway)\/|^node_modules\/(?:ws|ajv|picomatch|diff|@vscode|@modelcontextprotocol)\//

test('without a workspace and without --demo, a daemon loads nothing of what workspaces and the demo need', async () => {
  const modules = await loadedModules('{}')
  expect(modules.filter((module) => module.includes('demo'))).toEqual([])
  expect(modules).toContain('src/daemon.ts')
  expect(modules.filter((module) => companion.test(module))).toEqual([])
  expect(modules.filter((module) => module.startsWith('src/page/page-files'))).toEqual([])
})

test('without a workspace, the page works without what workspaces need', async () => {
  const modules = await loadedModules('{}', 'page')
  expect(modules).toContain('src/page/page-files.ts')
  expect(modules.filter((module) => companion.test(module))).toEqual([])
})

test('with a workspace, it loads them, but nothing of MCP before a client of /mcp comes', async () => {
  const modules = await loadedModules(JSON.stringify({ workspaces: [await makeFolder()] }))
  expect(modules).toContain('src/sessions/open-workspaces.ts')
  expect(modules).toContain('src/mcp/server/route.ts')
  expect(modules.filter((module) => module.includes('@modelcontextprotocol'))).toEqual([])
  // The gateway is off.
  expect(modules).not.toContain('src/gateway/open-gateway.ts')
})
