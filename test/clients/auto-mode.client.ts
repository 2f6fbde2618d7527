import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { baseEnvironment, openPlace, programOf } from './place.ts'
import { startClient } from './run-client.ts'
import { startInTerminal } from './terminal.ts'
import { generationsOf } from './upstream-view.ts'

// Claude Code in auto mode: the proxy gives the verdicts on tool calls, so that the client asks nobody and checks nothing itself.

const mainFile = join(import.meta.dirname, '../../src/main.ts')
/** A model that Claude Code knows to have auto mode. */
const model = 'claude-opus-4.8'
/** The model that checks. */
const sonnet = 'claude-sonnet-5.5'
const off = 'messages: { safeguards-model: "" }'
const args = [mainFile, 'launch', 'claude', '--model', model, '--', '--permission-mode', 'auto']

/** A proxy, and a user of Claude Code who has seen its welcome and trusts the workspace. */
async function openUser(file = '') {
  const proxy = await openProxy({ file })
  const place = await openPlace()
  const base = baseEnvironment(place)
  const env = {
    ...base,
    PATH: `${join(programOf('claude'), '..')}${delimiter}${base['PATH']}`,
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
    COPILOT_GITHUB_TOKEN: 'ghu_not-used-here',
    COPILOT_PROXY_HOME: join(place.home, 'proxy'),
    CLAUDE_CODE_MAX_RETRIES: '1',
  }
  await mkdir(join(place.home, '.claude'))
  const settings = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    projects: { [place.workspace]: { hasTrustDialogAccepted: true } },
  }
  await writeFile(join(place.home, '.claude.json'), JSON.stringify(settings))
  const { workspace: cwd } = place
  return {
    proxy,
    files: () => readdir(cwd),
    /** Has the model call the client's shell. */
    ask: async (command: string) => {
      const terminal = startInTerminal({ program: process.execPath, args, cwd, env })
      await terminal.seen(/auto mode on/)
      terminal.type(callOf(command))
      await terminal.seen(/Works"\}\]/)
      terminal.type('\r')
      return terminal
    },
    print: (command: string) =>
      startClient({ program: process.execPath, args: [...args, '--print', '--', callOf(command)], cwd, env }).finished,
    /** Requests for a check of the proxy, and for one of the client's own. */
    checks: () => generationsOf(proxy).filter(({ tools }) => tools.includes('report_verdicts')),
    ownChecks: () => generationsOf(proxy).filter(({ text }) => text.includes('<block>')),
  }
}

/** Claude Code runs it only after a check. */
const writing = `node -e 'require("fs").writeFileSync("made.txt","")'`

function callOf(command: string): string {
  return `[demo:tool Bash ${JSON.stringify({ command, description: 'Works' })}]`
}

/** The dialog that Claude Code shows where a gateway gives no verdicts. */
const dialog = /isn't compatible with this update/

describe('in a terminal', () => {
  test('an allowed call runs without a dialog and without a check of the client', async () => {
    const { ask, checks, ownChecks, files } = await openUser()
    const terminal = await ask(writing)
    await terminal.seen(/The tool answered/)
    expect(terminal.shown()).toContain('Allowed by auto mode')
    expect(terminal.shown()).not.toMatch(dialog)
    expect(await files()).toContain('made.txt')
    expect(checks().map((check) => check.model)).toEqual([sonnet])
    expect(ownChecks()).toEqual([])
  })

  test('a flagged call is denied, and the model reads why', async () => {
    const { ask, proxy, files } = await openUser()
    const terminal = await ask('rm -rf heron.txt')
    await terminal.seen(/The tool answered/)
    expect(terminal.shown()).not.toMatch(dialog)
    expect(await files()).toContain('heron.txt')
    expect(generationsOf(proxy).at(-1)?.calls).toMatchObject([
      { result: expect.stringContaining('cannot be restored') },
    ])
  })

  test('with the classifier down, the call does not run', async () => {
    const { ask, checks, files } = await openUser()
    const terminal = await ask(`${writing} # [demo:error 500]`)
    await terminal.seen(/The tool answered/)
    expect(terminal.shown()).not.toMatch(/Allowed by auto mode|isn't compatible with this update/)
    expect(await files()).not.toContain('made.txt')
    // The client may check the call itself, which is its own decision.
    expect(checks()).not.toHaveLength(0)
  })

  test('without a model that checks, the dialog appears', async () => {
    const { ask, checks, files } = await openUser(off)
    const terminal = await ask(writing)
    await terminal.seen(dialog)
    expect(await files()).not.toContain('made.txt')
    expect(checks()).toEqual([])
  })
})

describe('in print mode', () => {
  test('an allowed call runs, and no request holds the prompt of the client’s own check', async () => {
    const { print, checks, ownChecks, files } = await openUser()
    const { exitCode, stdout } = await print(writing)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('The tool answered')])
    expect(await files()).toContain('made.txt')
    expect(checks()).toHaveLength(1)
    expect(ownChecks()).toEqual([])
  })

  test('without a model that checks, the client checks itself', async () => {
    const { print, checks, ownChecks } = await openUser(off)
    await print(writing)
    expect(checks()).toEqual([])
    expect(ownChecks()).not.toEqual([])
  })
})
