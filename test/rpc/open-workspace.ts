import { isObject } from '../../src/json/json.ts'
import { openProxy } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { connect } from './support.ts'

/** Opens a daemon with one workspace that may be changed as its policy says, and connects to its /rpc. */
export async function openWorkspaceRpc(files: Readonly<Record<string, string>>, policy: string) {
  const root = await makeFolder({ ...files, '.agent-policy.yaml': policy })
  const file = JSON.stringify({ workspaces: [{ path: root, name: 'shop' }], workspace: { 'read-only': false } })
  const proxy = await openProxy({ file })
  const url = `${proxy.daemon.url.replace('http:', 'ws:')}/rpc`
  const client = await connect(url)
  /** Sends a request, and skips the progress before its answer. */
  async function answerTo(method: string, params: object): Promise<unknown> {
    let message = await client.ask(method, params)
    while (isObject(message) && message['method'] === '$/progress') message = await client.next()
    return message
  }
  return { ...proxy, root, url, client, answerTo }
}
