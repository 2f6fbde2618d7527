import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, vi } from 'vitest'
import { startCli } from '../cli/cli.ts'
import { connect } from '../rpc/support.ts'

const program = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

/** A user whose working folder is a workspace, with the environment of the program. */
interface Place {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
}

/** Calls a tool by the part of its name after `mcp.`. `text` is the whole answer. */
type Call = (tool: string, args: Readonly<Record<string, unknown>>) => Promise<{ isRefused: boolean; text: string }>

interface Way {
  readonly call: Call
  readonly close: () => Promise<void>
}

/** Starts the daemon and calls its tools over /rpc. */
export async function openRpc({ env }: Place): Promise<Way & { readonly url: string }> {
  const daemon = startCli(['serve', '--demo', '--port', '0'], env)
  const [, url = ''] = await daemon.seen('stdout', /^copilot-proxy listening on (\S+)$/m)
  const client = await connect(`${url.replace('http', 'ws')}/rpc`)
  return {
    url,
    async call(tool, args) {
      const text = JSON.stringify(await client.ask(`mcp.${tool}`, args))
      return { isRefused: text.includes('"error"'), text }
    },
    async close() {
      client.socket.terminate()
      daemon.child.kill()
      await daemon.ended
    },
  }
}

/** Starts `copilot-proxy mcp` in the workspace, as an editor does. */
export async function openStdio({ root, env }: Place): Promise<Way> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp'],
    env: { ...env, NODE_DISABLE_COMPILE_CACHE: '1' },
    cwd: root,
    stderr: 'ignore',
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  return {
    async call(tool, args) {
      const result = await client.callTool({ name: tool.replace('.', '_'), arguments: args })
      return { isRefused: result.isError === true, text: JSON.stringify(result) }
    },
    close: () => client.close(),
  }
}

/** Returns the answer with all files of the workspace. On a busy machine, a list may end before it has all. */
export async function listAll(call: Call): Promise<string> {
  return vi.waitFor(
    async () => {
      const { text } = await call('fs.list', {})
      expect(text).toContain('"truncated":false')
      return text
    },
    { timeout: 60_000 },
  )
}

export const createPatch = (name: string): string => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+mine\n`

/** Patches that write, create, remove, rename or change the mode of a file, with its first line as a caller may guess it. */
export function patchesOf(name: string, firstLine: string) {
  return {
    change: `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${firstLine}\n+mine\n`,
    'change with a wrong guess': `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-guess\n+mine\n`,
    create: createPatch(name),
    delete: `--- a/${name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-${firstLine}\n`,
    'rename it': `diff --git a/${name} b/taken.txt\nsimilarity index 100%\nrename from ${name}\nrename to taken.txt\n`,
    'rename onto it': `diff --git a/app.txt b/${name}\nsimilarity index 100%\nrename from app.txt\nrename to ${name}\n`,
    mode: `diff --git a/${name} b/${name}\nold mode 100644\nnew mode 100755\n`,
  }
}
