import { expect, test } from 'vitest'
import { chatBody, saying } from '../http/client.ts'
import { openFiles, runDaemon } from './running-daemon.ts'
import { expectUnharmed } from './unharmed.ts'

test.runIf(process.platform === 'linux')(
  'D16 fifty pipelined requests and a reset leave no file or socket open',
  { timeout: 40_000 },
  async () => {
    const { client, cli } = await runDaemon({ env: { COPILOT_PROXY_LOG_LEVEL: 'silent' } })
    const body = chatBody({ ...saying('[demo:long 50][demo:slow 20]'), stream: true })
    const request =
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${body.length}\r\n\r\n${body}`
    const round = async (): Promise<void> => {
      const socket = await client.socket()
      const begun = new Promise((resolve) => socket.once('data', resolve))
      socket.write(request.repeat(50))
      await begun
      socket.resetAndDestroy()
    }
    expect((await client.chat()).status).toBe(200)
    await round()
    const settled = async (): Promise<number> => {
      // What upstream keeps open for the next request is the same after each round.
      let last = -1
      await expect
        .poll(
          () => {
            const now = openFiles(cli)
            const isSame = now === last
            last = now
            return isSame
          },
          { timeout: 15_000, interval: 500 },
        )
        .toBe(true)
      return last
    }
    const before = await settled()
    for (let at = 0; at < 5; at += 1) await round()
    await expect.poll(() => openFiles(cli), { timeout: 15_000 }).toBeLessThanOrEqual(before)
    await expectUnharmed(client)
  },
)
