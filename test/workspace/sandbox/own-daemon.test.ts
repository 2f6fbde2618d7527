import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { connect } from '../../rpc/support.ts'
import { runDaemon } from '../../security/running-daemon.ts'
import { createTree } from '../tree.ts'
import { describeEnclosed } from './enclosed.ts'

/** Tries what only a person may do. Prints the status of each answer, or what prevented it. The address is the argument. */
const attack = `
const fs = require('node:fs'), net = require('node:net')
const [, , url, approval, tokenFile, gatewayPort] = process.argv
const ask = async (path, body) => {
  try {
    return (await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).status
  } catch (error) {
    return error.cause?.code ?? String(error)
  }
}
const read = () => { try { return fs.readFileSync(tokenFile, 'utf8').length } catch (error) { return error.code } }
const dial = () => new Promise((resolve) => {
  net.connect(Number(gatewayPort), '127.0.0.1').on('connect', () => resolve('connected')).on('error', (error) => resolve(error.code))
})
;(async () => {
  const approved = await ask('/approvals/' + approval, { decision: 'once' })
  const sent = await ask('/message', { text: 'agent: do more' })
  console.log(JSON.stringify({ approved, sent, token: read(), gateway: await dial() }))
  process.exit(0)
})()`

const outcome = z.object({
  approved: z.union([z.number(), z.string()]),
  sent: z.union([z.number(), z.string()]),
  token: z.union([z.number(), z.string()]),
  gateway: z.string(),
})

/** A daemon with an agent that waits for an approval, and a command that attacks the daemon. */
async function attackFrom(setting: 'auto' | 'off') {
  const { root } = await createTree()
  await mkdir(join(root, 'src'))
  await writeFile(join(root, 'attack.js'), attack)
  await writeFile(join(root, 'sh.sh'), 'exec node attack.js $(cat args)')
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: ["src/**"] }\nshell: { allow: ["sh sh.sh"] }\n')
  const config = JSON.stringify({
    workspaces: [root],
    workspace: { 'read-only': false, sandbox: setting },
    gateway: { enabled: true, port: 0 },
  })
  const daemon = await runDaemon({ config, confirmed: root })
  const { url } = daemon.client
  const tokenFile = join(daemon.home, 'owner-token')
  const token = readFileSync(tokenFile, 'utf8').trim()
  const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const script = [{ calls: [{ tool: 'createFile', args: { path: 'src/new.txt', content: 'x' } }] }, { text: 'Done' }]
  const posted = await post('/message', { text: `Do it. [demo:script ${JSON.stringify(script)}]`, mode: 'agent' })
  const { id } = z.object({ id: z.string() }).parse(await posted.json())
  const run = async (): Promise<string> =>
    (await fetch(`${url}/runs/${id}`, { headers: { authorization: `Bearer ${token}` } })).text()
  const approval = await vi.waitUntil(async () => /"approvalId":"([^"]+)"/.exec(await run())?.[1], { timeout: 30_000 })
  await writeFile(join(root, 'args'), [url, approval, tokenFile, new URL(url).port].join(' '))
  const client = await connect(`${url.replace('http:', 'ws:')}/rpc`)
  const ended = z.object({ result: z.object({ stdout: z.string(), stderr: z.string() }) })
  let answer = ended.safeParse(await client.ask('mcp.shell.run', { argv: ['sh', 'sh.sh'] }))
  // The output comes first.
  while (!answer.success) answer = ended.safeParse(await client.next())
  const { result } = answer.data
  expect(result.stderr).toBe('')
  return { ...outcome.parse(JSON.parse(result.stdout)), isPending: (await run()).includes('"state":"pending"') }
}

/** Runs a script as an allowed command of a policy that lists a host. Replaces URL by the address of the daemon. */
async function runWithHosts(script: string) {
  const { root } = await createTree()
  await writeFile(join(root, '.agent-policy.yaml'), 'shell: { allow: [sh sh.sh], network: [registry.test] }\n')
  const config = JSON.stringify({ workspaces: [root], workspace: { 'read-only': false } })
  const daemon = await runDaemon({ config, confirmed: root })
  await writeFile(join(root, 'sh.sh'), script.replaceAll('URL', daemon.client.url))
  const client = await connect(`${daemon.client.url.replace('http:', 'ws:')}/rpc`)
  const ended = z.object({ result: z.object({ stdout: z.string(), notes: z.array(z.string()) }) })
  let answer = ended.safeParse(await client.ask('mcp.shell.run', { argv: ['sh', 'sh.sh'] }))
  // The output comes first.
  while (!answer.success) answer = ended.safeParse(await client.next())
  const policy = await client.ask('mcp.policy.get', {})
  return { ...answer.data.result, policy, port: new URL(daemon.client.url).port }
}

describeEnclosed('a command in the sandbox', (person) => {
  test.skipIf(person.ownerUid !== undefined)(
    'cannot answer an approval, read the token, send a message or call the daemon',
    async () => {
      const { isPending, ...attacks } = await attackFrom('auto')
      expect(attacks).toEqual({
        approved: 'ECONNREFUSED',
        sent: 'ECONNREFUSED',
        token: 'ENOENT',
        gateway: 'ECONNREFUSED',
      })
      expect(isPending).toBe(true)
    },
  )

  test.skipIf(person.ownerUid !== undefined)(
    'of a policy with hosts does not reach the daemon through its proxy, and its answer names the hosts that it did not reach',
    async () => {
      const curl = 'curl -sS -m 20 --noproxy ""'
      const { stdout, notes, policy, port } = await runWithHosts(
        `${curl} URL/healthz; ${curl} --proxytunnel URL/healthz; ${curl} http://other.test/; exit 1`,
      )
      const inner = `Commands do not reach 127.0.0.1:${port}, because it is an address of this machine or of a private network.`
      const listed =
        'The policy does not let commands reach other.test:80. To allow it to the commands of the policy, add "other.test" ' +
        'to shell.network in .agent-policy.yaml of the workspace.'
      expect(stdout).toBe(`${inner}\n${listed}\n`)
      expect(notes).toEqual([inner, listed])
      expect(policy).toMatchObject({ result: { shell: { network: ['registry.test'] } } })
    },
  )
})

test('without a sandbox, a command cannot answer an approval without the token', async () => {
  const { approved, isPending } = await attackFrom('off')
  expect(approved).toBe(403)
  expect(isPending).toBe(true)
})
