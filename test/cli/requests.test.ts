import { isThorough } from '../thorough.ts'
import { expect, test } from 'vitest'
import { createUser } from '../commands/harness.ts'
import { createClient } from '../http/client.ts'
import type { Client } from '../http/client.ts'
import { startCli } from './cli.ts'

async function openUser() {
  const { home } = await createUser()
  const env = { PATH: process.env['PATH'], COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '0' }
  const cli = (...args: readonly string[]) => startCli(args, env)
  const serve = async (port: string): Promise<{ client: Client; stop: () => Promise<void> }> => {
    const daemon = cli('serve', '--demo', '--port', port)
    const [, url = ''] = await daemon.seen('stdout', /listening on (\S+)/)
    const client = createClient(url)
    const stop = async (): Promise<void> => {
      client.close()
      daemon.child.kill('SIGTERM')
      await daemon.ended
    }
    return { client, stop }
  }
  return { env, cli, serve }
}

test.runIf(isThorough)('follows requests as JSON lines over a restart, until Ctrl-C', { timeout: 60_000 }, async () => {
  const { env, cli, serve } = await openUser()
  const first = await serve('0')
  const port = String(first.client.port)
  env.COPILOT_PROXY_SERVER_PORT = port
  await first.client.chat()
  const following = cli('requests', '--follow', '--json')
  await following.seen('stdout', /"asked_model":"gpt-5-mini"/)
  await first.client.chat({ model: 'nonsense' })
  await following.seen('stdout', /"asked_model":"nonsense"/)
  await first.stop()
  await following.seen('stderr', /copilot-proxy has stopped\. Waiting for it to start again\.\n/)
  const second = await serve(port)
  await second.client.chat({ model: 'gpt-4.1' })
  await following.seen('stdout', /"asked_model":"gpt-4\.1"/)

  const listed = await cli('requests', '--limit', '1', '--model', 'gpt-4.1', '--json').ended
  const { requests } = JSON.parse(listed.stdout)
  const shown = (await cli('requests', requests[0].id).ended).stdout
  expect(shown).toContain(requests[0].id)
  expect(shown).toContain('No command repeats this request, because its body was not stored.')

  following.child.kill('SIGINT')
  const { code, stdout, stderr } = await following.ended
  expect(code).toBe(130)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((each) => JSON.parse(each).asked_model)).toEqual(['gpt-5-mini', 'nonsense', 'gpt-4.1'])
  expect(stderr).toBe('copilot-proxy has stopped. Waiting for it to start again.\n')
  await second.stop()
})

test('says that nothing runs', async () => {
  const { cli } = await openUser()
  expect(await cli('requests', '--follow').ended).toEqual({
    code: 1,
    stdout: '',
    stderr: 'copilot-proxy is not running. Run: copilot-proxy start\n',
  })
})
