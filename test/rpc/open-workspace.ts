import { openProxy } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { connect } from './support.ts'

/** Opens a daemon with one workspace that may be changed as its policy says, and connects to its /rpc. */
export async function openWorkspaceRpc(files: Readonly<Record<string, string>>, policy: string, root?: string) {
  const folder = root ?? (await makeFolder({ ...files, '.agent-policy.yaml': policy }))
  const file = JSON.stringify({ workspaces: [{ path: folder, name: 'shop' }], workspace: { 'read-only': false } })
  const proxy = await openProxy({ file })
  const url = `${proxy.daemon.url.replace('http:', 'ws:')}/rpc`
  return { ...proxy, root: folder, url, client: await connect(url) }
}
