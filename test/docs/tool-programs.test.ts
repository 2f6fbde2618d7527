import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import nodeProcess from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestGateway } from '../gateway/support.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the tool program of docs/tool-programs.md has about 20 lines, registers and answers', async () => {
  const page = await readFile(join(root, 'docs/tool-programs.md'), 'utf8')
  const code = /^```js\n(.*?)^```/ms.exec(page)?.[1] ?? ''
  expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
  // A folder below the repository's own, so that the program finds `ws`.
  const dir = await mkdtemp(join(root, 'node_modules', '.provider-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, 'provider.mjs'), code)
  const of = await openTestGateway()
  const child = spawn(nodeProcess.execPath, [join(dir, 'provider.mjs'), of.url], {
    env: { COPILOT_HOME: join(of.discoveryDir, '..', '..') },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  await vi.waitFor(() => expect(of.toolNames()).toEqual(['shout']), { timeout: 20_000, interval: 50 })
  expect(await of.call('shout', { text: 'hello' })).toEqual({ data: 'HELLO' })
})
