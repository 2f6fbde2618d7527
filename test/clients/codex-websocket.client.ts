import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { codex } from './codex.ts'
import { baseEnvironment, openPlace, programOf } from './place.ts'
import { startClient } from './run-client.ts'
import type { Finished } from './run-client.ts'
import { generationsOf } from './upstream-view.ts'

/** A server before the proxy that passes requests on and refuses upgrades, as some reverse proxies do. Returns its address. */
async function openHttpOnly(target: string): Promise<string> {
  const server = createServer((incoming, reply) => {
    const { method, headers } = incoming
    const outgoing = request(target + incoming.url, { method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    incoming.pipe(outgoing)
  })
  server.on('upgrade', (_incoming, socket) => {
    socket.end('HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A proxy, and a Codex that is told that it takes WebSockets. */
async function openCase({ isHttpOnly = false } = {}) {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key] }' })
  const url = isHttpOnly ? await openHttpOnly(proxy.url) : proxy.url
  const place = await openPlace()
  const folder = join(place.home, '.codex')
  await mkdir(folder)
  const ask = async (model: string, prompt: string): Promise<Finished> => {
    const config = `
model = "${model}"
model_provider = "copilot-proxy"

[model_providers.copilot-proxy]
name = "copilot-proxy"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "COPILOT_PROXY_API_KEY"
supports_websockets = true
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false
`
    await writeFile(join(folder, 'config.toml'), config)
    const args = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--', prompt]
    const env = { ...baseEnvironment(place), COPILOT_PROXY_API_KEY: 'right-key' }
    return await startClient({ program: programOf('codex'), args, cwd: place.workspace, env }).finished
  }
  return { proxy, ask, file: (name: string) => join(place.workspace, name) }
}

/** How each request came. */
async function methodsOf({ send }: Proxy): Promise<readonly unknown[]> {
  const { text } = await send('/requests', { headers: { authorization: 'Bearer right-key' } })
  return JSON.parse(text).requests.map(({ method }: { method: unknown }) => method)
}

describe('Codex CLI over WebSocket', () => {
  test.each(['gpt-5.3-codex', 'claude-opus-4.7', 'gemini-3-pro-preview'])('runs a tool loop on %s', async (model) => {
    const { proxy, ask, file } = await openCase()
    const finished = await ask(model, codex.callToRead(file('heron.txt')))
    expect(codex.read(finished)).toMatchObject({ failure: '', text: expect.stringContaining('about a heron') })
    const sent = generationsOf(proxy)
    expect(sent).toHaveLength(2)
    expect(sent[1]?.calls).toMatchObject([{ result: expect.stringContaining('about a heron') }])
    expect(await methodsOf(proxy)).toEqual(['WEBSOCKET', 'WEBSOCKET'])
    expect(finished.stderr).not.toContain('ERROR')
  })

  test('a 426 costs one line, and HTTP serves the request', async () => {
    const { proxy, ask, file } = await openCase({ isHttpOnly: true })
    const finished = await ask('gpt-5.3-codex', codex.callToRead(file('heron.txt')))
    expect(codex.read(finished)).toMatchObject({ failure: '', text: expect.stringContaining('about a heron') })
    expect(await methodsOf(proxy)).toEqual(['POST', 'POST'])
    expect(finished.stderr.match(/WebSocket/g)).toHaveLength(1)
  })
})
