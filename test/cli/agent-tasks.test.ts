import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test, vi } from 'vitest'
import { differencesOf, shop, smallTasks, type SmallTask } from '../agent/tasks.ts'
import { createUser } from '../commands/harness.ts'
import { some } from '../thorough.ts'
import { makeFolder } from '../tools/session.ts'
import { openEditor } from './acp-editor.ts'
import { onTerminal, startShell } from './cli.ts'

// The same tasks on the page: test/browser/tasks.browser.ts.
vi.setConfig({ testTimeout: 60_000 })

const { session } = methods.agent

const hasPython = await promisify(execFile)('python3', ['-c', 'import pty']).then(
  () => true,
  () => false,
)

async function openShop() {
  const root = await makeFolder(shop)
  const { home } = await createUser()
  const env = { PATH: process.env['PATH'], HOME: home, COPILOT_PROXY_HOME: join(home, 'proxy') }
  return {
    root,
    env: { ...env, COPILOT_PROXY_SERVER_PORT: '0' },
    differences: (task: SmallTask) => differencesOf(task, (path) => readFile(join(root, path), 'utf8')),
  }
}

test.skipIf(!hasPython).for(some(smallTasks, 2))('on a terminal, the agent $name (needs python3)', async (task) => {
  const { root, env, differences } = await openShop()
  const cli = startShell(onTerminal, ['agent', '--demo', '--workspace', root, task.goal], env)
  let text = ''
  let answered = 0
  cli.child.stdout?.on('data', (piece: Buffer) => {
    text += String(piece)
    for (const asked = text.split('? help: ').length - 1; answered < asked; answered += 1) {
      cli.child.stdin?.write(task.isAllowed ? 'y' : 'n')
    }
  })
  const { code, stdout } = await cli.ended
  // Without line breaks and colours.
  const read = stripVTControlCharacters(stdout).replaceAll(/\s+/g, ' ')
  expect({ code, answered, read }).toEqual({
    code: 0,
    answered: task.questions,
    read: expect.stringContaining(task.says),
  })
  expect(await differences(task)).toEqual([])
  const isChanged = Object.keys(task.changed).length > 0
  expect(read.includes('To undo: copilot-proxy undo')).toBe(isChanged)
  expect(read).toContain(isChanged ? 'Changed ' : 'No file was changed.')
})

test.for(smallTasks)('in an editor that speaks ACP, the agent $name', async (task) => {
  const { root, env, differences } = await openShop()
  const editor = await openEditor({ env, choose: () => (task.isAllowed ? 'once' : 'refuse') })
  const { sessionId } = await editor.agent.request(session.new, { cwd: root, mcpServers: [] })
  const prompt = [{ type: 'text' as const, text: task.goal }]
  expect(await editor.agent.request(session.prompt, { sessionId, prompt })).toEqual({ stopReason: 'end_turn' })
  expect(editor.text(sessionId)).toContain(task.says)
  expect(editor.asked).toHaveLength(task.questions)
  expect(await differences(task)).toEqual([])
  expect(editor.strays).toEqual([])
})
