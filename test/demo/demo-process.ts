import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'

const program = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

/** Starts the built program with `serve --demo` for the tests of a file. Returns functions that reach it. */
export function serveDemo() {
  let url = ''
  let home = ''
  let stop: (() => Promise<void>) | undefined

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'copilot-proxy-demo-test-'))
    const child = spawn(execPath, [program, 'serve', '--demo', '--port', '0', '--log-level', 'error'], {
      env: { COPILOT_PROXY_HOME: home, NODE_DISABLE_COMPILE_CACHE: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    stop = async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGTERM')) await ended
      await rm(home, { recursive: true })
    }
    for await (const line of createInterface(child.stdout)) {
      url = /^copilot-proxy listening on (\S+)$/.exec(line)?.[1] ?? ''
      if (url !== '') break
    }
  })
  afterAll(() => stop?.())

  return {
    home: () => home,
    url: () => url,
    get: async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json(),
    post: (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
  }
}
