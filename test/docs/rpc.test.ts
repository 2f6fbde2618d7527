import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import nodeProcess from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { fakeWorkspaces, openRpcApp } from '../rpc/support.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

async function codeIn(page: string, language: string): Promise<string> {
  const text = await readFile(join(root, page), 'utf8')
  const code = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text)?.[1]
  if (code === undefined) throw new Error(`${page} has no code in ${language}`)
  return code
}

/** A folder below the repository's own, so that programs find its packages. */
async function folder(): Promise<string> {
  const path = await mkdtemp(join(root, 'node_modules', '.rpc-client-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

async function open(): Promise<string> {
  const { workspaces } = fakeWorkspaces()
  return (await openRpcApp({ workspaces: () => workspaces })).url
}

test('the client in Node.js calls a tool', async () => {
  const file = join(await folder(), 'client.mjs')
  await writeFile(file, await codeIn('docs/rpc.md', 'js'))
  const { stdout } = await run(nodeProcess.execPath, [file, await open()])
  expect(stdout).toContain("session: 'foo'")
  expect(stdout).toContain("path: 'README.md'")
})

const hasWebsockets = await run('python3', ['-c', 'import websockets']).then(
  () => true,
  () => false,
)

test.skipIf(!hasWebsockets)('the client in Python calls a tool (needs python3-websockets)', async () => {
  const file = join(await folder(), 'client.py')
  await writeFile(file, await codeIn('docs/rpc.md', 'python'))
  const { stdout } = await run('python3', [file, await open()])
  expect(JSON.parse(stdout)).toEqual({ session: 'foo', args: { path: 'README.md' } })
})
