import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEnclosed, describeEnclosed } from './enclosed.ts'

describeEnclosed('below a folder that other programs obey', (person) => {
  test('a file of copilot-proxy, which is hidden, does not make its folders writable', async () => {
    const { script, home } = await createEnclosed(person, {
      '../../home/.copilot/extensions/tap/.provider-token': 'the-token',
      '../../home/.copilot/extensions/a.js': '1',
      '../../home/notes/a.txt': '1',
    })
    const { stdout } = await script(
      'cat .copilot/extensions/tap/.provider-token; for each in .copilot/extensions/a.js .copilot/extensions/new.js notes/a.txt; do echo 2 > $each; done; ' +
        'mv .copilot/extensions .copilot/moved; mv .copilot moved',
      { root: home, own: [join(home, '.copilot/extensions/tap')] },
    )
    expect(stdout).toBe('')
    expect(readFileSync(join(home, '.copilot/extensions/a.js'), 'utf8')).toBe('1')
    expect(existsSync(join(home, '.copilot/extensions/new.js'))).toBe(false)
    expect(readFileSync(join(home, 'notes/a.txt'), 'utf8')).toBe('2\n')
  })

  test('pointers of git that the workspace itself brings make nothing writable', async () => {
    const { script, root } = await createEnclosed(person, {
      '.git': 'gitdir: .claude/hooks/worktrees/x\n',
      '.claude/hooks/run.sh': '1',
      '.claude/hooks/objects/x': '',
      '.claude/hooks/worktrees/x/gitdir': '../../../../.git\n',
      '.claude/hooks/worktrees/x/commondir': '../..\n',
    })
    await script('echo 2 > .claude/hooks/run.sh')
    expect(readFileSync(join(root, '.claude/hooks/run.sh'), 'utf8')).toBe('1')
  })

  test('a git folder behind a link is as read-only as the folder around it', async () => {
    const { scripts, root } = await createEnclosed(person, { 'agents/x/.git/config': '[core]\n', 'agents/run.sh': '1' })
    symlinkSync('agents', join(root, '.claude'))
    await scripts(['echo 2 > agents/run.sh; echo 2 > agents/x/.git/new; echo 2 > agents/x/new'])
    expect(readFileSync(join(root, 'agents/run.sh'), 'utf8')).toBe('1')
    for (const name of ['agents/x/.git/new', 'agents/x/new']) expect(existsSync(join(root, name)), name).toBe(false)
  })
})

describeEnclosed('a link whose target changes', (person) => {
  test('is named if a folder on its way was replaced, or its missing target was made', async () => {
    const { scripts, root } = await createEnclosed(person, { 'real/agents/settings.json': '1' })
    symlinkSync('real', join(root, 'way'))
    symlinkSync('way/agents', join(root, '.claude'))
    symlinkSync('later', join(root, '.cursor'))
    const [honest, hostile] = await scripts([
      'echo x > file.txt',
      'rm way; mkdir -p evil/agents later; ln -s evil way; echo 2 > .claude/settings.json; echo 2 > later/mcp.json',
    ])
    expect(honest?.notes).toEqual([])
    expect(hostile?.notes.join()).toMatch(/"\.claude".*"\.cursor"/)
    expect(readFileSync(join(root, 'real/agents/settings.json'), 'utf8')).toBe('1')
  })

  test('makes copilot-proxy remove nothing outside', async () => {
    const { script, root, base } = await createEnclosed(person, {
      '.git/config': '[core]\n',
      '.git/modules/sub/HEAD': 'ref: refs/heads/main\n',
      '../other/.git/worktrees/tree/commondir': '../..\n',
    })
    const other = join(base, 'work/other/.git/worktrees/tree')
    await script(`mv .git/modules/sub .git/modules/old; ln -s ${other} .git/modules/sub`)
    expect(lstatSync(join(root, '.git/modules/sub')).isSymbolicLink()).toBe(true)
    expect(existsSync(join(other, 'commondir'))).toBe(true)
  })
})
