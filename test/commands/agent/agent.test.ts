import { isThorough } from '../../thorough.ts'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runProgram } from '../../../src/commands/program.ts'
import type { CommandContext } from '../../../src/commands/shared/command.ts'
import { createStyle, type Output } from '../../../src/terminal/output.ts'
import { enclosureOfMachine } from '../../../src/workspace/sandbox/create-sandbox.ts'
import { quickFix, quickShopFiles } from '../../agent/shop.ts'
import { scriptOf } from '../../agent/support.ts'
import { makeFolder } from '../../tools/session.ts'
import { createUser, openGithub, recordOutput, upstreamVariables } from '../harness.ts'

const enclosure = await enclosureOfMachine()

async function openShop(settings: Readonly<Record<string, string>> = {}) {
  const root = await makeFolder(quickShopFiles)
  const user = await createUser()
  Object.assign(user.env, { PATH: process.env['PATH'], COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false', ...settings })
  return {
    root,
    user,
    total: () => readFile(join(root, 'src/total.js'), 'utf8'),
    /** Runs `agent --demo` in the folder, whose policy the person has confirmed. */
    agent: async (goal: string, words: readonly string[] = [], change: Partial<CommandContext> = {}) => {
      await user.run('policy trust --yes', { workingDir: () => root })
      const stdout = recordOutput(80)
      const stderr = recordOutput(80)
      const argv = ['agent', '--demo', '--workspace', root, ...words, goal]
      const code = await runProgram(argv, user.context({ stdout, stderr, ...change }))
      return { code, stdout: stdout.text(), stderr: stderr.text() }
    },
  }
}

/** A terminal with colours, on which these keys are pressed, one at each question. */
function terminal(keys: readonly string[]): {
  readonly change: Partial<CommandContext>
  readonly text: () => string
} {
  const recorded = recordOutput(80)
  const stdout: Output = { ...recorded, isTerminal: true, hasColors: true, style: createStyle(true) }
  const left = [...keys]
  const readKey = (signal: AbortSignal, onReady: () => void): Promise<string> => {
    signal.throwIfAborted()
    onReady()
    return Promise.resolve(left.shift() ?? 'n')
  }
  return { change: { stdout, readKey }, text: recorded.text }
}

test('shows the cost in the headers of later steps, and how full the context is at the end', async () => {
  const { agent } = await openShop()
  const { stdout } = await agent(quickFix, ['--yes'])
  expect(stdout).toMatch(/^-- Step 2 of 30 -+ \d[\d.]* credits --$/m)
  const [line = ''] = /^5 steps, .*/ms.exec(stdout) ?? []
  expect(line.replaceAll('\n', ' ')).toMatch(/credits, context \S+ of \S+ tokens \(\d+ %\)/)
})

test('ends at --max-credits, and says so', async () => {
  const { agent, total } = await openShop()
  const { code, stdout } = await agent(quickFix, ['--yes', '--max-credits', '0.00001'])
  expect([code, stdout]).toEqual([1, expect.stringContaining('limit of 0.00001 AI credits')])
  expect(await total()).not.toContain('quantity')
})

test('names the instructions of the repository in one line', async () => {
  const { agent, root } = await openShop()
  await writeFile(join(root, 'AGENTS.md'), 'Use tabs.')
  const { stdout } = await agent('Hello')
  expect(stdout.match(/^.*AGENTS\.md.*$/gm)).toEqual(['Uses AGENTS.md.'])
})

test('shows the file that the goal mentions like other reads', async () => {
  const { agent } = await openShop()
  const { stdout } = await agent('Explain @src/total.js and @nobody to me@example.com')
  expect(stdout).toMatch(/> fs\.read src\/total\.js\n {2}\d+ lines? \(\d+ ms\)\n\n-- Step 1 of 30/)
  expect(stdout.match(/^> /gm)).toHaveLength(1)
})

test('with --yes it does what the policy allows, and tells it in lines of 80 characters', async () => {
  const { agent, total } = await openShop()
  const { code, stdout, stderr } = await agent(quickFix, ['--yes'])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
  expect(stdout).toContain('-- Step 1 of 30 --')
  expect(stdout).toContain('> shell.run node test/total.test.js\n    ... ')
  expect(stdout).toMatch(/ {2}exit code 1 \(.*\)\n[\s\S]* {2}exit code 0 \(/)
  expect(stdout).toContain('    -  return items.reduce((sum, item) => sum + item.price, 0)\n    +  return')
  expect(stdout).toMatch(
    /The model gave its final answer\.\nChanged 1 file:\n {2}modified src\/total\.js \(\+1 −1\)\nTo undo: copilot-proxy undo \d{8}-\w+\nCommands/,
  )
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

/** A call that states a plan, with a state for each part. */
function plan(...states: readonly string[]) {
  const items = states.map((state, at) => ({ text: `Part ${at + 1}`, state }))
  return { calls: [{ tool: 'plan_set', args: { items } }] }
}

test('shows the plan of the model each time it changes', async () => {
  const { agent } = await openShop()
  const script = scriptOf(plan('in_progress', 'pending'), plan('completed', 'in_progress'), { text: 'Done.' })
  const { stdout } = await agent(script, ['--yes'])
  expect(stdout).toContain('  [>] Part 1\n  [ ] Part 2\n')
  expect(stdout).toContain('  [x] Part 1\n  [>] Part 2\n')
})

test('--yes does not pass by the policy', async () => {
  const { agent, root } = await openShop()
  const { code, stdout } = await agent(
    scriptOf(
      { calls: [{ tool: 'createFile', args: { path: 'evil.js', content: 'x' } }] },
      { calls: [{ tool: 'shell_run', args: { argv: ['touch', 'evil.js'] } }] },
      { text: 'I created evil.js.' },
    ),
    ['--yes'],
  )
  expect(code).toBe(0)
  expect(stdout.match(/^ {2}Refused: --yes allows only/gm)).toHaveLength(2)
  expect(stdout).toContain('No file was changed.')
  await expect(readFile(join(root, 'evil.js'))).rejects.toThrow('ENOENT')
})

test('without a terminal and without --yes, changes and commands are refused, and it says why', async () => {
  const { agent, total } = await openShop()
  const { code, stdout } = await agent(quickFix)
  expect(stdout).toContain('  Refused: there is no terminal to ask for your approval.')
  expect(stdout).toContain('3 approvals in a row were refused.')
  expect(stdout).not.toContain('You refused')
  expect(stdout.replaceAll('\n', ' ')).toContain(
    'Changes and commands were refused, because there is no terminal to ask for your approval.',
  )
  expect(code).toBe(1)
  expect(await total()).toBe(quickShopFiles['src/total.js'])
})

test.runIf(isThorough)('--json prints the events of the run on stdout, and everything else on stderr', async () => {
  const { agent } = await openShop()
  const { code, stdout, stderr } = await agent(quickFix, ['--yes', '--json'])
  const events: { type: string; state?: string; outcome?: string }[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(events.at(-1)).toMatchObject({ type: 'done', outcome: 'completed', files: [{ path: 'src/total.js' }] })
  const types = ['fragment', 'usage', 'tool', 'approval', 'diff', 'done']
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(types))
  expect(stderr).toContain('Changed 1 file:')
})

test('what the model and files say cannot control the terminal', async () => {
  const { agent } = await openShop()
  const { stdout } = await agent(
    scriptOf(
      { text: 'a\u001b[31mred\u001b]0;title\u0007', calls: [{ tool: 'fs_read', args: { path: 'x\u001b[2J' } }] },
      { text: '\u009b2J\u202edone' },
    ),
  )
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect(stdout).toContain(String.raw`a\u001b[31mred`)
})

test('in a fresh folder with the default configuration it asks, and does what is allowed', async () => {
  const { agent, root, total } = await openShop({ COPILOT_PROXY_WORKSPACE_READ_ONLY: 'true' })
  await rm(join(root, '.agent-policy.yaml'))
  const { change, text } = terminal(['y', 'y', 'y'])
  const { code } = await agent(quickFix, [], change)
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
  const told = text().replaceAll(/\s+/g, ' ')
  expect(told).toContain('This happens only if you allow it.')
  expect(told).toContain('This workspace is read-only.')
  expect(told).toContain('There is no .agent-policy.yaml in the workspace')
  expect(told.match(/Run node test\/total\.test\.js\?/g)).toHaveLength(2)
})

test('in a locked workspace nothing is asked and nothing happens', async () => {
  const { agent, root, total } = await openShop({ COPILOT_PROXY_WORKSPACE_READ_ONLY: 'locked' })
  await rm(join(root, '.agent-policy.yaml'))
  const { change, text } = terminal(['y', 'y', 'y'])
  await agent(quickFix, [], change)
  expect(text()).toContain('This workspace is locked: nothing will be changed or run.')
  expect(text()).not.toContain('y once')
  expect(await total()).toBe(quickShopFiles['src/total.js'])
})

test('read-only workspaces, and a limit of steps', async () => {
  const { agent } = await openShop({ COPILOT_PROXY_WORKSPACE_READ_ONLY: 'true' })
  const { code, stdout } = await agent(quickFix, ['--yes', '--max-steps', '2'])
  expect(stdout).toContain('This workspace is read-only, and you are not asked here')
  expect(stdout).not.toContain('you are asked before')
  expect(stdout).toContain('-- Step 2 of 2 --')
  expect(stdout).toContain('The run reached its limit of 2 steps.')
  expect(code).toBe(1)
})

test('exits with 2 for wrong usage, with 3 without a login, and with 1 for a folder that is none', async () => {
  const { root, user, agent } = await openShop()
  expect(await agent('x', ['--max-steps', '0'])).toMatchObject({ code: 2 })
  expect(await agent('x', ['--max-credits', '0'])).toMatchObject({ code: 2 })
  expect(await agent(' ')).toMatchObject({ code: 2, stderr: 'The goal is empty. Describe the task for the agent.\n' })
  expect(await user.run('agent')).toMatchObject({ code: 2 })
  expect(await user.run('agent Do-it', { workingDir: () => root })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Not logged in.'),
  })
  expect(await agent('x', ['--workspace', '/no/such/folder'])).toMatchObject({ code: 1 })
})

test('one key allows a command for the run, shows help and the whole diff, and allows a change once', async () => {
  const { agent, total } = await openShop()
  const { change, text } = terminal(['?', 'r', 'd', 'y'])
  const { code } = await agent(quickFix, [], change)
  expect(text()).toContain('allow for this run')
  expect(text().match(/Run node test\/total\.test\.js\?/g)).toHaveLength(1)
  expect(text()).toContain('Change src/total.js?')
  // A command has no diff.
  expect(text().match(/n refuse, \? help/g)).toHaveLength(2)
  expect(text().match(/n refuse, d whole diff, \? help/g)).toHaveLength(2)
  expect(text()).toContain('\u001b[32m    +  return items.reduce')
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
})

/** A terminal on which a person types these lines, and then Enter alone. */
function typing(lines: readonly string[], keys: readonly string[] = []) {
  const { change, text } = terminal(keys)
  const left = [...lines]
  const readLine = (signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted()
    return Promise.resolve(left.shift() ?? '')
  }
  return { change: { ...change, readLine }, shown: () => stripVTControlCharacters(text()) }
}

test('without a goal, it asks for one task after another in one conversation', async () => {
  const { root, user } = await openShop()
  const { change, shown } = typing(['My name is Heron.', '[demo:echo]'])
  expect(await runProgram(['agent', '--demo', '--workspace', root], user.context(change))).toBe(0)
  const [, first = '', second = ''] = shown().split('-- Step 1 of 30')
  expect(first).toMatch(/You said: My\s+name\s+is\s+Heron\./)
  expect(second).toMatch(/My\s+name\s+is\s+Heron\./)
  expect(shown().match(/^Working in /gm)).toHaveLength(1)
})

test('Ctrl-C ends the run of a task, and the next one goes on', async () => {
  const { root, user } = await openShop()
  const task = scriptOf({ calls: [{ tool: 'shell_run', args: { argv: ['true'] } }] }, { text: 'Done' })
  const { change, shown } = typing([task, 'Hello'], ['\u0003'])
  expect(await runProgram(['agent', '--demo', '--workspace', root], user.context(change))).toBe(0)
  expect(shown()).toMatch(/The run was cancelled\.[^]*-- Step 1 of 30 -+\nDone/)
})

test.each([['agent'], ['agent --json'], ['agent --yes']])(
  '%s without a goal and a terminal says what to do',
  async (words) => {
    const { user } = await openShop()
    expect(await user.run(words)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Describe the task: copilot-proxy agent "GOAL"\n'),
    })
  },
)

test('a policy that came with the folder is confirmed by a key of its own, and the help names no other', async () => {
  const { root, user } = await openShop()
  const { change, text } = terminal(['?', 'a'])
  const goal = scriptOf({
    calls: [{ tool: 'edit_replace', args: { path: 'src/total.js', oldText: 'x', newText: 'y' } }],
  })
  await runProgram(['agent', '--demo', '--workspace', root, goal], user.context(change))
  const shown = stripVTControlCharacters(text())
  expect(shown).toContain('  a confirm, n not now, ? help: ')
  expect(shown).toContain('  a       confirm the policy: ')
  expect(shown.split('Change src/total.js?', 1)[0]).not.toMatch(/allow this once|allow for this run|whole diff/)
})

test('a allows a command always, after its rule was shown; a later run asks no more, and policy forget takes it back', async () => {
  const { agent, root, user } = await openShop({ COPILOT_PROXY_WORKSPACE_READ_ONLY: 'true' })
  const goal = scriptOf({ calls: [{ tool: 'shell_run', args: { argv: ['true'] } }] }, { text: 'Done' })
  const first = terminal(['a'])
  await agent(goal, [], first.change)
  expect(first.text()).toMatch(/"Always" allows the agent in this workspace what this rule says:\S*\n\S* {4}run true/)
  expect(first.text()).toContain('y once, r for this run, a always, n refuse, ? help: ')
  const second = terminal([])
  await agent(goal, [], second.change)
  expect(second.text()).not.toContain('y once')
  expect(second.text()).toContain('exit code 0')
  const inRoot = { workingDir: () => root }
  const rule = 'run true'
  expect((await user.run('policy check', inRoot)).stdout).toContain(`allowed the agent always\n  ${rule}\n`)
  expect((await user.run('policy check -- true', inRoot)).stdout).toMatch(
    /^Needs a person: .*\nYou have allowed it to the agent always: run true\./,
  )
  expect((await user.run('policy forget', inRoot)).stdout).toBe(`trust .agent-policy.yaml\n${rule}\n`)
  const forget = (...words: readonly string[]) => runProgram(['policy', 'forget', ...words], user.context(inRoot))
  expect(await forget('run false')).toBe(1)
  expect(await forget(rule)).toBe(0)
  expect((await user.run('policy forget --all', inRoot)).stdout).toBe('Forgotten: trust .agent-policy.yaml\n')
  expect((await user.run('policy forget', inRoot)).stdout).toBe('You have allowed nothing always.\n')
  const third = terminal(['n'])
  await agent(goal, [], third.change)
  expect(third.text()).toContain('Run true?')
})

test.runIf(isThorough)('a change of several files is asked for with one line for each of them', async () => {
  const { agent, root } = await openShop()
  await writeFile(join(root, '.agent-policy.yaml'), "writes: { allow: ['**', .mcp.json] }\n")
  const { change, text } = terminal(['n', 'r', 'n'])
  const edit = '--- a/src/total.js\n+++ b/src/total.js\n@@ -1 +1 @@\n-/** The price of an order. */\n+/** A price. */\n'
  const unifiedDiff =
    `diff --git a/src/total.js b/src/total.js\nold mode 100644\nnew mode 100755\n${edit}` +
    'diff --git a/test/total.test.js b/test/b.js\nrename from test/total.test.js\nrename to test/b.js\n' +
    'diff --git a/x.sh b/x.sh\nnew file mode 100755\n'
  const server = '--- /dev/null\n+++ b/.mcp.json\n@@ -0,0 +1 @@\n+{}\n'
  await agent(
    scriptOf(
      { calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff } }] },
      { calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff: server } }] },
      { text: 'Done' },
    ),
    [],
    change,
  )
  // oxlint-disable-next-line no-control-regex -- removes colours
  const shown = text().replaceAll(/\u001b\[\d*m/g, '')
  expect(shown).toContain(
    '  Change 3 files?\n' +
      '    src/total.js: changed, made executable (+1 -1)\n' +
      '    test/total.test.js → test/b.js: renamed\n' +
      '    x.sh: created, empty, executable\n' +
      '  y once, r these files for this run, n refuse, d whole diff, ? help: ',
  )
  // A file that other programs obey is allowed once only, so the key for the run is unknown there.
  expect(shown).toContain(
    '  Create .mcp.json?\n    .mcp.json: created (+1 -0)\n  y once, n refuse, d whole diff, ? help: \n',
  )
  await expect(readFile(join(root, '.mcp.json'))).rejects.toThrow('ENOENT')
})

test('reading a secret is asked for in a sentence with its path', async () => {
  const { agent, root } = await openShop()
  await writeFile(join(root, '.env'), 'KEY=1\n')
  const { change, text } = terminal(['n'])
  await agent(scriptOf({ calls: [{ tool: 'fs_read', args: { path: '.env' } }] }, { text: 'Done' }), [], change)
  expect(text()).toContain('Let the agent read .env?')
  expect(text()).toContain('looks like a secret')
  expect(text()).not.toContain('Call mcp.fs.read')
})

test.skipIf(enclosure.kind === 'none')(
  'leaving the sandbox is asked for with the command and its risk, and --yes does not allow it (needs bubblewrap)',
  async () => {
    const { agent, root } = await openShop()
    await mkdir(join(root, '.git'))
    await writeFile(join(root, '.git/config'), '[core]\n')
    await writeFile(join(root, 'hook.sh'), 'echo >> hook.sh; echo more >> .git/config\n')
    await writeFile(join(root, '.agent-policy.yaml'), 'shell: { allow: [sh hook.sh] }\n')
    const script = scriptOf({ calls: [{ tool: 'shell_run', args: { cmd: 'sh hook.sh' } }] }, { text: 'Done' })
    const { change, text } = terminal(['y', 'n'])
    await agent(script, [], change)
    expect(text()).toContain('Run this command again without the sandbox?')
    expect(text()).toContain('everything that you can, on the whole machine')
    expect(text().replaceAll(/\s+/g, ' ')).toMatch(
      /the first run may have changed the files.* have changed meanwhile: "hook.sh"/,
    )
    expect(text()).toMatch(/y once, n refuse/)
    await agent(script, ['--yes'])
    expect(await readFile(join(root, '.git/config'), 'utf8')).toBe('[core]\n')
  },
)

test('n refuses a command and a change, and nothing happens', async () => {
  const { agent, total } = await openShop()
  const { change, text } = terminal(['n', 'n', 'n', 'n'])
  const { code } = await agent(quickFix, [], change)
  expect(text()).toContain('Change src/total.js?')
  expect(code).not.toBe(2)
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  expect(text()).toContain('No file was changed.')
})

const create = (path: string) => ({ calls: [{ tool: 'createFile', args: { path, content: 'x' } }] })

test('in a subfolder of a configured workspace, it works in the workspace, under its policy', async () => {
  const { root, user } = await openShop()
  user.env['COPILOT_PROXY_HOME'] = await makeFolder({ 'config.yaml': `workspaces: ['${root}']\n` })
  // A policy of the subfolder alone would allow the second patch.
  await writeFile(join(root, 'src/.agent-policy.yaml'), 'writes: { allow: ["**"] }\n')
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: ["src/a.js"] }\n')
  await user.run('policy trust --yes', { workingDir: () => root })
  for (const words of [[], ['--workspace', '.']]) {
    const stdout = recordOutput(80)
    const goal = scriptOf(create('src/a.js'), create('src/b.js'), create('b.js'), { text: 'Done' })
    const context = user.context({ stdout, workingDir: () => join(root, 'src') })
    expect(await runProgram(['agent', '--demo', '--yes', ...words, goal], context)).toBe(0)
    expect(stdout.text()).toContain(`Working in ${root}.`)
    await expect(readFile(join(root, 'src/b.js'))).rejects.toThrow('ENOENT')
    expect(await readFile(join(root, 'src/a.js'), 'utf8')).toBe('x')
    await rm(join(root, 'src/a.js'))
  }
})

test('long output is folded to its end', async () => {
  const { agent, root } = await openShop()
  await writeFile(join(root, '.agent-policy.yaml'), 'shell:\n  allow: ["seq 100"]\n')
  const { stdout } = await agent(scriptOf({ calls: [{ tool: 'shell_run', args: { argv: ['seq', '100'] } }] }), [
    '--yes',
  ])
  expect(stdout).toMatch(/\.\.\. \d+ lines above\n(?: {4}\d+\n)*? {4}100\n/)
  expect(stdout).not.toMatch(/^ {4}1$/m)
})

const submit = (text: string) => ({ calls: [{ tool: 'plan_submit', args: { plan: text } }] })

test('with --plan it asks whether the plan is accepted, says what the person wants changed, and then does it', async () => {
  const { agent, root } = await openShop()
  const { change, text } = terminal(['d', 'n', 'y', 'y'])
  const lines: string[] = []
  const readLine = async (_signal: AbortSignal, prompt: string): Promise<string> => {
    lines.push(prompt)
    return 'Call it b.js.'
  }
  const goal = scriptOf(create('a.js'), submit('# Plan\n\nCreate a.js.'), submit('Create b.js.'), create('b.js'), {
    text: 'Done.',
  })
  const { code } = await agent(goal, ['--plan'], { ...change, readLine })
  expect(lines).toEqual(['  What should change? (Enter: nothing to add) '])
  const shown = stripVTControlCharacters(text())
  expect(shown).toContain('# Plan\n\n  Create a.js.\n  Accept this plan?\n  y accept, n refuse, ? help: ')
  expect(shown).toContain('this run only plans')
  expect(shown).toContain('The model reads what you sent meanwhile.')
  expect(code).toBe(0)
  await expect(readFile(join(root, 'a.js'))).rejects.toThrow('ENOENT')
  expect(await readFile(join(root, 'b.js'), 'utf8')).toBe('x')
})

test.each([[[]], [['--yes']]])('without a terminal, --plan %s shows the plan and changes nothing', async (words) => {
  const { agent, root } = await openShop()
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: ["**"] }\n')
  const { code, stdout } = await agent(scriptOf(submit('Create a.js.'), create('a.js'), { text: 'Done.' }), [
    '--plan',
    ...words,
  ])
  expect(stdout).toContain('  Create a.js.\n  Accept this plan?\n')
  expect(stdout.replaceAll('\n', ' ')).toContain('There is no terminal to ask whether you accept the plan')
  expect(code).toBe(1)
  await expect(readFile(join(root, 'a.js'))).rejects.toThrow('ENOENT')
})

test.each([
  ['in the mode agent', [], 'The model gave its final answer. No file was changed. No command was run.'],
  ['with --plan', ['--plan'], 'The model gave its final answer. No plan was accepted, so nothing was changed.'],
])('the end of a run %s that changed nothing says so once', async (_, words, reason) => {
  const { agent } = await openShop()
  const { code, stdout } = await agent('Hello', words)
  expect([code, stdout.replaceAll('\n', ' ')]).toEqual([0, expect.stringContaining(reason)])
  expect(stdout.match(/No file was changed|nothing was changed/g)).toHaveLength(1)
})

test('Ctrl-C at the question cancels the run', async () => {
  const { agent, total } = await openShop()
  const { change, text } = terminal(['\u0003'])
  const { code } = await agent(quickFix, [], change)
  expect(text()).toContain('The run was cancelled.')
  expect(code).toBe(130)
  expect(await total()).toBe(quickShopFiles['src/total.js'])
})

test('a command without output shows no empty line', async () => {
  const { agent, root } = await openShop()
  await writeFile(join(root, '.agent-policy.yaml'), 'shell:\n  allow: ["true"]\n')
  const { stdout } = await agent(scriptOf({ calls: [{ tool: 'shell_run', args: { argv: ['true'] } }] }), ['--yes'])
  expect(stdout).toMatch(/> shell\.run true\n {2}exit code 0 \(/)
})

test.each([[[]], [['--demo']]])('%s uses the running copilot-proxy if it serves the folder', async (words) => {
  const { root, user, total } = await openShop()
  const stop = new AbortController()
  const address = Promise.withResolvers<string>()
  const stdout = recordOutput()
  const listening: Output = {
    ...stdout,
    write(text) {
      stdout.write(text)
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout.text()) ?? []
      if (url !== undefined) address.resolve(url)
    },
  }
  await user.run('policy trust --yes', { workingDir: () => root })
  const serving = runProgram(
    ['serve', '--demo', '--workspace', root, '--port', '0', '--log-level', 'silent'],
    user.context({ stdout: listening, signal: stop.signal }),
  )
  const url = await address.promise
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(url).port
  const output = recordOutput(80)
  const inside = user.context({ stdout: output, workingDir: () => join(root, 'src') })
  const code = await runProgram(['agent', '--yes', ...words, quickFix], inside)
  expect(output.text()).toContain('Changed 1 file:')
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
  const listed = z
    .object({ sessions: z.tuple([z.object({ id: z.string() })]) })
    .parse(await (await fetch(`${url}/sessions`)).json())
  const messages = await (await fetch(`${url}/sessions/${listed.sessions[0].id}/messages`)).json()
  expect(messages).toMatchObject({ messages: [{ text: quickFix, mode: 'agent', outcome: 'completed' }] })
  stop.abort('SIGTERM')
  await serving
})

test('each run begins a conversation, and --continue goes on with the last one, without a running copilot-proxy too', async () => {
  const { root, user } = await openShop()
  const upstream = await openGithub({ record: 20 })
  Object.assign(user.env, upstreamVariables(upstream))
  const run = async (...words: readonly string[]) => {
    const stdout = recordOutput(80)
    const stderr = recordOutput(80)
    const code = await runProgram(
      ['agent', '--workspace', root, '--model', 'gpt-5-mini', ...words],
      user.context({ stdout, stderr }),
    )
    const sent = upstream.log.findLast(({ route }) => route === '/responses')?.body
    return { code, sent: JSON.stringify(sent), text: stdout.text() + stderr.text() }
  }
  expect(await run('--continue', 'Go on')).toMatchObject({
    code: 1,
    text: expect.stringMatching(/no conversation to\s+continue/),
  })
  expect(await run('The word is heron.')).toMatchObject({ code: 0 })
  expect((await run('The word is stork.')).sent).not.toContain('heron')
  const { code, sent, text } = await run('--continue', 'Go on')
  expect([code, text]).toEqual([0, expect.stringContaining('Continuing "The word is stork.".')])
  expect(sent).toContain('stork')
  expect(sent).not.toContain('heron')
})
