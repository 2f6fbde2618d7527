import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createUser, openGithub, upstreamVariables } from '../commands/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { startCli } from '../cli/cli.ts'
import { createClient, saying } from '../http/client.ts'
import { postMessage } from '../http/session-client.ts'
import { callTool } from '../sessions/daemon-process.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

/** Path, mode, time and content of each file below a folder. */
async function snapshot(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder, { recursive: true })
  const entries = await Promise.all(
    names.toSorted().map(async (name): Promise<[string, string]> => {
      const path = join(folder, name)
      const { mode, mtimeMs } = await stat(path)
      const isFile = (mode & 0o170000) === 0o100000
      const content = isFile
        ? createHash('sha256')
            .update(await readFile(path))
            .digest('hex')
        : ''
      return [name, isFile ? `${mode} ${mtimeMs} ${content}` : `${mode}`]
    }),
  )
  return Object.fromEntries(entries)
}

const patch = { unifiedDiff: '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n' }

async function work(url: string): Promise<void> {
  const client = createClient(url)
  expect((await client.chat(saying('Hello'))).status).toBe(200)
  expect(await callTool({ client }, 'mcp.edit.applyPatch', patch)).toMatchObject({ result: { ok: true } })
  const posted = await postMessage(client, { text: 'Hello', mode: 'chat' })
  expect(posted.status).toBe(202)
  const { id } = posted.json() as { readonly id: string }
  await expect.poll(async () => (await client.send(`/runs/${id}`)).text).toContain('"state":"ended"')
  client.close()
}

test('the demo leaves an existing data folder as it is, with its login, usage and sessions, and adds its change to the journal', async () => {
  const github = await openGithub()
  const { home } = await createUser(github)
  const root = await makeFolder({ '.agent-policy.yaml': 'writes:\n  allow: ["**"]\n' })
  const dir = join(home, 'proxy')
  const temporary = join(home, 'tmp')
  await mkdir(temporary)
  await confirmPolicies(join(dir, 'workspaces'), root)
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    TMPDIR: temporary,
    COPILOT_PROXY_HOME: dir,
    COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false',
    COPILOT_PROXY_AGENT_REQUIRE_APPROVAL: 'false',
  }
  const serve = async (more: readonly string[], added: Readonly<Record<string, string>>) => {
    const cli = startCli(['serve', '--port', '0', '--workspace', root, ...more], { ...env, ...added })
    const [, url = ''] = await cli.seen('stdout', /^copilot-proxy listening on (\S+)$/m)
    return { cli, url }
  }
  const stop = async ({ cli }: Awaited<ReturnType<typeof serve>>) => {
    cli.child.kill('SIGTERM')
    expect((await cli.ended).code).toBe(0)
  }

  // A real daemon, in front of a simulated GitHub, fills the folder.
  const real = await serve([], upstreamVariables(github))
  const client = createClient(real.url)
  expect((await client.chat(saying('Hello'))).status).toBe(200)
  await callTool({ client }, 'mcp.edit.applyPatch', { unifiedDiff: patch.unifiedDiff.replace('new.txt', 'real.txt') })
  client.close()
  await stop(real)
  const before = await snapshot(dir)
  expect(Object.keys(before).join(' ')).toMatch(/usage/)
  expect(Object.keys(before).join(' ')).toMatch(/workspaces/)

  const demo = await serve(['--demo'], {})
  await work(demo.url)
  await stop(demo)
  const after = await snapshot(dir)
  expect(after).toMatchObject(before)
  // The files of the workspace are real, and so is the undo of their changes.
  const added = Object.keys(after).filter((path) => !(path in before))
  expect(added.map((path) => path.replace(/-\w+(?=\.)/, ''))).toEqual([
    expect.stringMatching(/journal\/00000002\.bytes$/),
    expect.stringMatching(/journal\/00000002\.done$/),
  ])
  // Its own data are gone too.
  expect(await readdir(temporary)).toEqual([])
})
