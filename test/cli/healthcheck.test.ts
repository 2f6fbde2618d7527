import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { listenForTest } from '../listen-for-test.ts'
import { makeFolder } from '../tools/session.ts'

const root = join(import.meta.dirname, '../..')

/** The command of HEALTHCHECK in the Dockerfile, as the shell of the image gets it. */
async function healthcheck(): Promise<string> {
  const lines = (await readFile(join(root, 'Dockerfile'), 'utf8')).replaceAll('\\\n', '').split('\n')
  return lines.find((line) => line.startsWith('HEALTHCHECK'))?.replace(/^.*? CMD /, '') ?? ''
}

async function listen(): Promise<number> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/healthz' ? 200 : 404
    response.end()
  })
  return listenForTest(server)
}

async function run(config: string, env: Record<string, string> = {}): Promise<number> {
  const home = await makeFolder()
  await writeFile(join(home, 'config.yaml'), config)
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const command = await healthcheck()
  return new Promise((resolve) => {
    const options = { cwd: root, env: { PATH: path, COPILOT_PROXY_HOME: home, ...env } }
    execFile('/bin/sh', ['-c', command], options, (error) => resolve(error === null ? 0 : Number(error.code)))
  })
}

test.skipIf(process.platform === 'win32')('the image checks the port of the configuration', async () => {
  const port = await listen()
  expect(await run(`server: { port: ${port} }\n`)).toBe(0)
  expect(await run('server: { port: 9 }\n', { COPILOT_PROXY_SERVER_PORT: String(port) })).toBe(0)
  expect(await run('server: { prot: 9 }\n', { COPILOT_PROXY_SERVER_PORT: String(port) })).toBe(0)
  expect(await run('server: { port: 9 }\n')).toBe(1)
})
