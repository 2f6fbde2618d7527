import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptOf } from '../agent/support.ts'
import { jsonLines } from './client.ts'
import { baseEnvironment, openPlace, programOf } from './place.ts'
import { startClient } from './run-client.ts'

const program = join(import.meta.dirname, '../../bin/copilot-proxy.cjs')

const edit = scriptOf(
  { calls: [{ tool: 'edit_replace', args: { path: 'heron.txt', oldText: 'a heron', newText: 'two herons' } }] },
  { text: 'Done.' },
)

/** One prompt of acpx, an editor on the command line, in a workspace of its own. */
async function ask(prompt: string, words: readonly string[], { isDemo = true, isHome = false } = {}) {
  const place = await openPlace()
  const agent = [process.execPath, program, 'acp', ...(isDemo ? ['--demo'] : [])].join(' ')
  const cwd = isHome ? place.home : place.workspace
  const { exitCode, stdout, stderr } = await startClient({
    program: programOf('acpx'),
    args: ['--agent', agent, '--cwd', cwd, ...words, 'exec', prompt],
    cwd,
    // Nothing listens there.
    env: { ...baseEnvironment(place), COPILOT_PROXY_SERVER_PORT: '2' },
  }).finished
  return { exitCode, stdout, all: stdout + stderr, heron: await readFile(join(place.workspace, 'heron.txt'), 'utf8') }
}

test('shows a change that was allowed, and the end of the turn', async () => {
  const { exitCode, all, heron } = await ask(edit, ['--approve-all'])
  expect(exitCode, all).toBe(0)
  expect(heron).toContain('two herons')
  expect(all).toContain('[tool] Change heron.txt (completed)')
  expect(all).toContain('modified heron.txt')
  expect(all).toContain('[done] end_turn')
})

test('a change that was denied does not happen, and the agent says so', async () => {
  const { exitCode, stdout, heron } = await ask(edit, ['--deny-all', '--format', 'json'])
  // acpx reports a denial so.
  expect(exitCode).toBe(5)
  expect(heron).not.toContain('two herons')
  const messages = JSON.stringify(jsonLines(stdout))
  expect(messages).toContain('"optionId":"refuse"')
  expect(messages).toContain('No file was changed.')
})

test.each([
  ['a folder that is refused', { isHome: true }, /is your home folder, so it is not opened/],
  ['no login', { isDemo: false }, /Not logged in\. Run: copilot-proxy login/],
])('says why it cannot begin: %s', async (_name, options, reason) => {
  const { exitCode, all } = await ask('Hello', ['--approve-all'], options)
  expect(exitCode).not.toBe(0)
  expect(all).toMatch(reason)
})
