import { some } from '../../thorough.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createStdioTransport } from '../../../src/mcp/servers/stdio-transport.ts'
import { noPlaces } from '../../../src/workspace/policy/own-places.ts'
import { createSandbox, enclosureOfMachine } from '../../../src/workspace/sandbox/create-sandbox.ts'
import { makeFolder } from '../../tools/session.ts'
import { createEnclosed, describeEnclosed, runnerOf } from './enclosed.ts'

const enclosure = await enclosureOfMachine()

// A program that runs in the sandbox for long, such as an MCP server, changes the workspace while the sandbox of a command is made.

type Enclosed = Awaited<ReturnType<typeof createEnclosed>>

/** Starts a command in the sandbox, beside those of `scripts`. */
function startBeside({ given, user }: Enclosed, script: string): void {
  const [program, ...args] = runnerOf({ ...given, commands: [{ script }] })
  const child = spawn(program, args, { ...user, cwd: '/', stdio: 'ignore', detached: true })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
}

const until = (name: string): string => `while ! [ -e ${name} ]; do sleep 0.02; done`
const waits = (name: string) => ({ script: until(name), access: 'read' }) as const

describeEnclosed('while another program in the sandbox replaces a folder by a link', (person) => {
  test.each([
    ['the home folder', '../../home'],
    ['another folder', '../..'],
  ])('a command does not see %s', async (_where, target) => {
    const of = await createEnclosed(person, {
      '../../home/.bashrc': '',
      '../../.bashrc': '',
      '../notes.txt': 'the-notes',
    })
    const { base, home, own } = of
    startBeside(
      of,
      `mkdir x; : > x/.bashrc; touch ready; ${until('go')}; sleep 0.3; mv x y; ln -s ${target} x; touch swapped; ${until('stop')}`,
    )
    const attack =
      `cat ${home}/.ssh/id ${own}/owner-token ${join(base, 'work', 'notes.txt')}; ` +
      `for each in ${home} ${base} /; do echo > $each/written; done`
    // The places of the protected files are those at the end of the second command.
    const results = await of.scripts([waits('ready'), 'touch go', waits('swapped'), attack, 'touch stop'])
    expect(JSON.stringify(results)).not.toMatch(/the-(?:key|token|notes)/)
    for (const folder of [home, base, '/']) expect(existsSync(join(folder, 'written')), folder).toBe(false)
  })

  test('and a command whose folders stay runs, also beside honest renames', async () => {
    const of = await createEnclosed(person, { 'kept/.vscode/tasks.json': '1', 'file.txt': 'x' })
    startBeside(of, `touch ready; until [ -e stop ]; do mkdir build; mv build old; rmdir old; done`)
    const results = await of.scripts([
      waits('ready'),
      'cat file.txt',
      'cat file.txt',
      'echo 2 > kept/.vscode/tasks.json',
      'touch stop',
    ])
    expect(results.map(({ stdout }) => stdout)).toEqual(['', 'x', 'x', '', ''])
    expect(results[3]?.stderr).toContain('Read-only')
  })
})

describeEnclosed('links of the user', (person) => {
  test('to toolchains, and among their programs, are seen', async () => {
    const of = await createEnclosed(person, {
      '../../store/nvm/bin/tool': 'tool\n',
      '../../home/.cargo/bin/real': 'real\n',
    })
    symlinkSync(join(of.base, 'store', 'nvm'), join(of.home, '.nvm'))
    symlinkSync('real', join(of.home, '.cargo/bin/linked'))
    const { stdout } = await of.script(`cat ${of.home}/.nvm/bin/tool ${of.home}/.cargo/bin/linked`, {
      folders: [join(of.home, '.cargo/bin/linked')],
    })
    expect(stdout).toBe('tool\nreal\n')
  })
})

describeEnclosed('a link in the place of a folder, when the sandbox is made', (person) => {
  const targets = [
    ['the root of the system', '/'],
    ['the folder in which bubblewrap makes the sandbox', '../../../../../../../../..'],
    ['the root of the sandbox', 'as deep as it is'],
    ['the workspace', '.'],
    ['the folder around the workspace', '..'],
    ['nothing', 'missing'],
  ] as const
  test.each(some(targets, 4, 2))('that leads to %s ends the start soon, with a sentence', async (_where, target) => {
    const { scripts, root } = await createEnclosed(person, { 'x/.npmrc': '1', '.claude/a': '1' })
    const to = target === 'as deep as it is' ? relative(root, '/') : target
    // Nothing is mounted in `.claude`, so bubblewrap notices nothing.
    for (const folder of ['x', '.claude']) {
      const startedMs = performance.now()
      const [result] = await scripts(['echo STARTED'], { swap: { folder, target: to } })
      // Without a sign that bubblewrap waits in vain, the start ends after twenty seconds.
      expect(performance.now() - startedMs, folder).toBeLessThan(19_000)
      expect(result?.stdout, folder).toBe('')
      expect(result?.error, folder).toMatch(/replaced it by a link|could not be set up/)
    }
  })
})

test.skipIf(enclosure.kind === 'none')('a server whose mounts were displaced says why it was not started', async () => {
  const root = await makeFolder({ 'x/.npmrc': '1' })
  const sandbox = createSandbox(root, {
    mode: () => 'auto',
    folders: () => [],
    homeDir: () => '/nowhere',
    ownPlaces: noPlaces,
    cacheDir: undefined,
  })
  const reasonOf = async (swap: () => void): Promise<string> => {
    const { argv, mounts } = await sandbox.start({
      argv: ['/bin/sh', '-c', 'exit 3'],
      cwd: root,
      access: 'write',
      rule: 'always enclosed',
    })
    swap()
    const { promise, resolve } = Promise.withResolvers<string>()
    await createStdioTransport({ command: argv, cwd: '/', env: {}, mounts, onStderr() {}, onEnd: resolve }).start()
    return promise
  }
  expect(await reasonOf(() => {})).toBe('it ended with exit code 3')
  const displaced = await reasonOf(() => {
    renameSync(join(root, 'x'), join(root, 'y'))
    symlinkSync('y', join(root, 'x'))
  })
  expect(displaced).toContain('another program moved a folder of the workspace or replaced it by a link')
})
