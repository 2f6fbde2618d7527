import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { expect, test, vi } from 'vitest'
import { differencesOf, shop, smallTasks } from '../agent/tasks.ts'
import { createUser } from '../commands/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { onTerminal, startShell } from './cli.ts'

// The same tasks on the page: test/browser/tasks.browser.ts. In an editor: test/commands/acp/tasks.test.ts.
vi.setConfig({ testTimeout: 60_000 })

const hasPython = await promisify(execFile)('python3', ['-c', 'import pty']).then(
  () => true,
  () => false,
)

test.skipIf(!hasPython).for(smallTasks)('on a terminal, the agent $name (needs python3)', async (task) => {
  const root = await makeFolder(shop)
  const { home } = await createUser()
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    COPILOT_PROXY_HOME: join(home, 'proxy'),
    COPILOT_PROXY_SERVER_PORT: '0',
  }
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
  expect(await differencesOf(task, (path) => readFile(join(root, path), 'utf8'))).toEqual([])
  const isChanged = Object.keys(task.changed).length > 0
  expect(read.includes('To undo: copilot-proxy undo')).toBe(isChanged)
  expect(read).toContain(isChanged ? 'Changed ' : 'No file was changed.')
})
