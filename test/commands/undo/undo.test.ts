import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../../../src/commands/program.ts'
import { createStyle, type Output } from '../../../src/terminal/output.ts'
import { scriptOf } from '../../agent/support.ts'
import { makeFolder } from '../../tools/session.ts'
import { copilotUser, logInToCodex } from '../doctor/logged-in.ts'
import { createUser, openGithub, recordOutput, upstreamVariables } from '../harness.ts'

const patchOf = (name: string, before: string, after: string): string =>
  `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${before}\n+${after}\n`

const apply = (...patches: readonly string[]): string =>
  scriptOf(...patches.map((unifiedDiff) => ({ calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff } }] })), {
    text: 'Done.',
  })

/** A folder, and a demo daemon that serves it. */
async function openShop() {
  const root = await makeFolder({
    'a.txt': 'one\n',
    'b.txt': 'one\n',
    '.agent-policy.yaml': 'writes: { allow: ["*.txt"] }\n',
  })
  const user = await createUser()
  Object.assign(user.env, { PATH: process.env['PATH'], COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false' })
  const stop = new AbortController()
  const address = Promise.withResolvers<string>()
  const recorded = recordOutput()
  const listening: Output = {
    ...recorded,
    write(text) {
      recorded.write(text)
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(recorded.text()) ?? []
      if (url !== undefined) address.resolve(url)
    },
  }
  await user.run('policy trust --yes', { workingDir: () => root })
  const serving = runProgram(
    ['serve', '--demo', '--workspace', root, '--port', '0', '--log-level', 'silent'],
    user.context({ stdout: listening, signal: stop.signal }),
  )
  onTestFinished(async () => {
    stop.abort('SIGTERM')
    await serving
  })
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(await address.promise).port

  const run = async (words: readonly string[], answer?: string) => {
    const stdout = recordOutput(80)
    const stderr = recordOutput(80)
    const context = user.context({
      stdout: {
        ...stdout,
        ...(answer !== undefined && { isTerminal: true, hasColors: true, style: createStyle(true) }),
      },
      stderr,
      workingDir: () => root,
      ...(answer !== undefined && {
        interactive: true,
        stdin: (async function* () {
          yield `${answer}\n`
        })(),
      }),
    })
    const code = await runProgram(words, context)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  }
  return {
    root,
    run,
    agent: (goal: string) => run(['agent', '--yes', goal]),
    texts: () => Promise.all(['a.txt', 'b.txt'].map((name) => readFile(join(root, name), 'utf8'))),
  }
}

describe('undo', () => {
  test('on a terminal shows the last run in colour, asks, and undoes all of it', async () => {
    const { agent, run, texts } = await openShop()
    await agent(apply(patchOf('a.txt', 'one', 'first')))
    await agent(apply(patchOf('a.txt', 'first', 'two'), patchOf('b.txt', 'one', 'two')))
    const kept = await run(['undo'], 'n')
    expect(kept).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was undone.') })
    expect(await texts()).toEqual(['two\n', 'two\n'])
    const done = await run(['undo'], 'y')
    const { red, green } = createStyle(true)
    expect(done.stdout).toContain(red('    -two'))
    expect(done.stdout).toContain(green('    +first'))
    expect(done.stderr).toMatch(/^Undo 2 changes of run \S+ \(2 files\)\? \[y\/N\] /)
    expect(done.code).toBe(0)
    expect(await texts()).toEqual(['first\n', 'one\n'])
    const [, back = ''] = /To bring it back: copilot-proxy undo (\S+)/.exec(done.stdout) ?? []
    expect(await run(['undo', back, '--yes'])).toMatchObject({ code: 0 })
    expect(await texts()).toEqual(['two\n', 'two\n'])
  })

  test('takes the id that the summary of a run names, and those of its changes', async () => {
    const { agent, run, texts } = await openShop()
    const { stdout } = await agent(apply(patchOf('a.txt', 'one', 'two'), patchOf('b.txt', 'one', 'two')))
    const [, ofRun = ''] = /^To undo: copilot-proxy undo (\w{8})$/m.exec(stdout) ?? []
    const planned = JSON.parse((await run(['undo', ofRun, '--json'])).stdout) as { undoes: readonly string[] }
    const [newest = '', older = ''] = planned.undoes
    expect(await run(['undo', older, '--yes'])).toMatchObject({ code: 0 })
    expect(await texts()).toEqual(['one\n', 'two\n'])
    expect(await run(['undo', newest.slice(0, 8), '--yes'])).toMatchObject({ code: 0 })
    expect(await texts()).toEqual(['one\n', 'one\n'])
    expect(await run(['undo', newest, '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('undone already'),
    })
    expect(await run(['undo', 'x', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no change'),
    })
  })

  test('works without a running copilot-proxy and without a login', async () => {
    const root = await makeFolder({ 'a.txt': 'one\n', '.agent-policy.yaml': 'writes: { allow: ["*.txt"] }\n' })
    const user = await createUser()
    Object.assign(user.env, { PATH: process.env['PATH'], COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false' })
    const login = upstreamVariables(await openGithub())
    Object.assign(user.env, login)
    const inside = { workingDir: () => root, stdout: recordOutput(80), stderr: recordOutput(80) }
    await user.run('policy trust --yes', { workingDir: () => root })
    const goal = apply(patchOf('a.txt', 'one', 'two'))
    await runProgram(['agent', '--yes', '--model', 'gpt-5-mini', goal], user.context(inside))
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('two\n')
    for (const name of Object.keys(login)) user.env[name] = undefined
    expect(await user.run('undo --yes', { workingDir: () => root })).toMatchObject({ code: 0, stderr: '' })
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\n')
  })

  test('without a running copilot-proxy asks no provider, and renews no login', async () => {
    const root = await makeFolder({ 'a.txt': 'one\n' })
    const { github, user } = await copilotUser()
    const { codex, path } = await logInToCodex(user, -10)
    const seen = [github.log.length, codex.log.length]
    const stored = await readFile(path, 'utf8')
    const { code, stdout } = await user.run('undo --json', { workingDir: () => root })
    expect({ code, changes: JSON.parse(stdout).changes }).toEqual({ code: 0, changes: [] })
    expect([github.log.length, codex.log.length]).toEqual(seen)
    expect(await readFile(path, 'utf8')).toBe(stored)
  })

  test('without a terminal lists the changes, and undoes only with --yes', async () => {
    const { agent, run, texts } = await openShop()
    expect((await run(['undo'])).stdout).toBe('No tool has changed a file of this folder yet.\n')
    await agent(apply(patchOf('a.txt', 'one', 'two')))
    const { code, stdout } = await run(['undo'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^TIME +ID +RUN +STATE +FILES\n\d{4}-\d\d-\d\d \d\d:\d\d +00000001-\w+ +\w{8} +a\.txt\n/)
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect(await run(['undo', '00000001'])).toMatchObject({ code: 1, stderr: expect.stringContaining('add --yes') })
    expect(await texts()).toEqual(['two\n', 'one\n'])
    const planned = await run(['undo', '00000001', '--json'])
    expect(JSON.parse(planned.stdout)).toMatchObject({ undone: false, diff: expect.stringContaining('+one') })
    expect(await run(['undo', '--yes'])).toMatchObject({ code: 0 })
    expect(await texts()).toEqual(['one\n', 'one\n'])
    expect((await run(['undo'])).stdout).toMatch(/an undo +a\.txt\n.*undone +a\.txt\n/)
    const listed = JSON.parse((await run(['undo', '--json'])).stdout) as { changes: readonly { id: string }[] }
    expect(listed.changes).toMatchObject([{ undoneBy: listed.changes[1]?.id }, { undoes: [listed.changes[0]?.id] }])
  })

  test('with later edits names the lines that differ, and changes nothing', async () => {
    const { agent, run, texts, root } = await openShop()
    await agent(apply(patchOf('a.txt', 'one', 'two'), patchOf('b.txt', 'one', 'two')))
    await writeFile(join(root, 'b.txt'), 'mine\u001b[31m\n')
    const { code, stderr } = await run(['undo', '--yes'])
    expect(code).toBe(1)
    expect(stderr).toContain('b.txt has changed since the change')
    expect(stderr).toContain('b.txt, line 1\n  expected: two\n  found: mine')
    expect(stderr).not.toContain('\u001b')
    expect(await texts()).toMatchObject(['two\n', expect.stringContaining('mine')])
  })

  test('--diff shows what all changes have done together', async () => {
    const { agent, run } = await openShop()
    await agent(apply(patchOf('a.txt', 'one', 'two')))
    await agent(apply(patchOf('a.txt', 'two', 'three')))
    const { code, stdout } = await run(['undo', '--diff'])
    expect(code).toBe(0)
    expect(stdout).toContain('-one\n    +three\n')
    expect(stdout).toContain('Changed 1 file:\n  modified a.txt (+1 −1)\n')
    await run(['undo', '--yes'])
    await run(['undo', '--yes'])
    expect((await run(['undo', '--diff'])).stdout).toBe('All files are as they were before the first change.\n')
  })
})

describe('undo --to', () => {
  test('shows what comes back and asks, then the conversation ends before the message and its text is given back', async () => {
    const { agent, run, texts } = await openShop()
    await agent(apply(patchOf('a.txt', 'one', 'two')))
    const { stdout } = await run([
      'agent',
      '--continue',
      '--yes',
      apply(patchOf('a.txt', 'two', 'three'), patchOf('b.txt', 'one', 'two')),
    ])
    const [, message = ''] = /^To undo: copilot-proxy undo (\w{8})$/m.exec(stdout) ?? []
    const kept = await run(['undo', '--to', message], 'n')
    expect(kept).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('(1 message removed, 2 files restored)? [y/N]'),
    })
    expect(kept.stdout).toContain('-three')
    const done = await run(['undo', '--to', message], 'y')
    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(
      /Went back: 1 message removed, 2 files restored\. To bring the files back: copilot-proxy undo \d{8}-\w+\nThe message was:\nDo it\./,
    )
    expect(await texts()).toEqual(['two\n', 'one\n'])
    expect(await run(['undo', '--to', message, '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no message with the id'),
    })
  })

  test('a file that has changed since refuses it, and --keep-files goes back without files', async () => {
    const { agent, run, texts, root } = await openShop()
    await agent(apply(patchOf('a.txt', 'one', 'two'), patchOf('b.txt', 'one', 'two')))
    const { changes } = JSON.parse((await run(['undo', '--json'])).stdout) as { changes: readonly { runId: string }[] }
    const message = changes[0]?.runId ?? ''
    await writeFile(join(root, 'a.txt'), 'mine\n')
    await writeFile(join(root, 'b.txt'), 'mine\n')
    expect(await run(['undo', '--to', message])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('expected: two'),
    })
    const refused = await run(['undo', '--to', message, '--yes'])
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('b.txt, a.txt have changed since the changes.'),
    })
    expect(refused.stderr).toMatch(/b\.txt, line 1[\s\S]*a\.txt, line 1/)
    expect(await run(['undo', '--to', message, '--keep-files'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('add --yes'),
    })
    const done = JSON.parse((await run(['undo', '--to', message, '--keep-files', '--yes', '--json'])).stdout) as object
    expect(done).toMatchObject({ undone: true, messages: [message], mode: 'agent' })
    expect(done).not.toHaveProperty('undo')
    expect(await texts()).toEqual(['mine\n', 'mine\n'])
  })

  test('takes no id of a change besides, and --keep-files needs it', async () => {
    const { run } = await openShop()
    expect(await run(['undo', '00000001', '--to', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not both'),
    })
    expect(await run(['undo', '--keep-files'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('needs --to'),
    })
  })
})
