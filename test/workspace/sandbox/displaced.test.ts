import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createEnclosed, describeEnclosed, runnerOf } from './enclosed.ts'

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
      `cat ${home}/.ssh/id ${own}/owner-token ${base}/work/notes.txt; ` +
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
