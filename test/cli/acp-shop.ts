import { methods } from '@agentclientprotocol/sdk'
import type { ContentBlock, McpServer } from '@agentclientprotocol/sdk'
import { openGithub, upstreamVariables } from '../commands/harness.ts'
import { openEditor } from './acp-editor.ts'
import type { Editor, EditorOptions } from './acp-editor.ts'
import { startCli } from './cli.ts'
import { openShopFolder } from './shop.ts'

const { session } = methods.agent

/** A folder with a mistake, and editors for it. */
export async function openShop(settings: Readonly<Record<string, string>> = {}) {
  // Nothing listens on this port.
  const shop = await openShopFolder({ COPILOT_PROXY_SERVER_PORT: '2', ...settings })
  return { ...shop, editor: (options: Partial<EditorOptions> = {}) => openEditor({ env: shop.env, ...options }) }
}

/** With a login, and conversations that outlive a process. */
export async function openWithUpstream() {
  const upstream = await openGithub({ record: 50 })
  const shop = await openShop({ ...upstreamVariables(upstream), COPILOT_PROXY_AGENT_MODEL: 'gpt-5-mini' })
  /** The requests for models so far. */
  const asked = () => upstream.log.filter(({ route }) => route === '/responses').map(({ body }) => JSON.stringify(body))
  return {
    ...shop,
    editor: (options: Partial<EditorOptions> = {}) => shop.editor({ args: ['acp'], ...options }),
    asked,
    /** What the model got last. */
    sent: () => asked().at(-1) ?? '',
  }
}

export function say({ agent }: Editor, sessionId: string, ...prompt: readonly (string | ContentBlock)[]) {
  return agent.request(session.prompt, {
    sessionId,
    prompt: prompt.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  })
}

export async function newSession({ agent }: Editor, cwd: string, mcpServers: McpServer[] = []): Promise<string> {
  return (await agent.request(session.new, { cwd, mcpServers })).sessionId
}

/** Starts a daemon of the folder. `here`: with it, an editor uses this daemon. */
export async function serve(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
  { port = '0', args = [] }: { readonly port?: string; readonly args?: readonly string[] } = {},
) {
  const withPort = (number: string) => ({ ...env, COPILOT_PROXY_SERVER_PORT: number })
  const cli = startCli(['serve', ...args, '--workspace', root], withPort(port))
  const [, at = ''] = await cli.seen('stdout', /listening on http:\/\/127\.0\.0\.1:(\d+)/)
  return {
    cli,
    port: at,
    url: `http://127.0.0.1:${at}`,
    here: { env: withPort(at), args: ['acp'] },
    /** Returns what the daemon has written. */
    stop() {
      cli.child.kill('SIGTERM')
      return cli.ended
    },
  }
}
