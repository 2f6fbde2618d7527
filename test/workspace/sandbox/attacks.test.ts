import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { isDeepStrictEqual, promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createEnclosed, describeEnclosed, runnerOf } from './enclosed.ts'

async function listen(server: Server, at: string | number): Promise<void> {
  if (typeof at === 'number') server.listen(at, '127.0.0.1')
  else server.listen(at)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
}

/** Whether a user other than root could read passwords in the group of their file. */
function canReadShadow(uid: number | undefined): boolean {
  const stats = statSync('/etc/shadow', { throwIfNoEntry: false })
  return uid !== undefined && stats !== undefined && stats.gid !== 0 && (stats.mode & 0o040) !== 0
}

const git = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;'

const connect = (to: object): string =>
  `node -e 'require("node:net").connect(${JSON.stringify(to)}).on("error", (e) => console.log(e.code)).pipe(process.stdout)'`

const leave = (name: string): string =>
  `setsid sh -c 'trap "" TERM; touch ${name}; while :; do echo >> ${name}; sleep 0.05; done' & `
const waitFor = (name: string): string => `while ! [ -s ${name} ]; do sleep 0.05; done; `

describeEnclosed('a command in the sandbox', (person) => {
  test('has no capability, and cannot make the system writable', async () => {
    const { script } = await createEnclosed(person)
    const { stdout, sandbox } = await script(
      'grep CapEff /proc/self/status; for each in /usr /etc /proc/sys/kernel/core_pattern; do ' +
        'mount -o remount,bind,rw $each; umount -l $each; unshare -rm mount -o remount,bind,rw $each; ' +
        'touch $each/x && echo WRITTEN; done; cat /proc/sys/kernel/core_pattern > /tmp/old; ' +
        'cat /tmp/old > /proc/sys/kernel/core_pattern && echo WRITTEN; echo h > /proc/sysrq-trigger && echo WRITTEN',
    )
    expect({ stdout, sandbox }).toEqual({ stdout: 'CapEff:\t0000000000000000\n', sandbox: 'bubblewrap' })
  })

  test('reads no file of /etc that is closed to other users, also as root', async () => {
    const { script } = await createEnclosed(person)
    const { stdout } = await script(
      'cat /etc/passwd > /dev/null && echo open; find /etc -xdev -type f ! -perm -004 -size +0 -exec cat {} + | grep -c .',
    )
    expect(stdout).toBe('open\n0\n')
  })

  test.skipIf(!canReadShadow(person.uid))('reads no such file as a member of a group', async () => {
    const { given, user } = await createEnclosed(person)
    const reads = { script: 'cat /etc/passwd > /dev/null && echo open; cat /etc/shadow' }
    const run = async (more: object): Promise<string> => {
      const [program, ...args] = runnerOf({ ...given, ...more, commands: [reads] })
      return (await promisify(execFile)(program, args, { ...user, gid: statSync('/etc/shadow').gid, cwd: '/' })).stdout
    }
    expect(await run({})).toContain(String.raw`"stdout":"open\n"`)
    // Without a sandbox, the group counts.
    expect(await run({ mode: 'off' })).toContain('root:')
  })

  test('sees neither the home folder, nor the files of copilot-proxy, nor other processes', async () => {
    const { script, home, own } = await createEnclosed(person)
    const { stdout } = await script(
      `cat ${own}/owner-token ${home}/.ssh/id; cat /proc/*/environ | tr '\\0' '\\n' | grep -c VITEST; ls /proc | grep -c '^[0-9]'`,
    )
    expect(stdout).not.toMatch(/the-/)
    const [ofVitest, processes] = stdout.trim().split('\n').map(Number)
    expect(ofVitest).toBe(0)
    expect(processes).toBeLessThan(10)
  })

  test('reaches no socket outside: not in files, not on the loopback of the system', async () => {
    const { script, base, home } = await createEnclosed(person)
    const paths = [join(base, 'outside.sock'), join(home, '.agent.sock')]
    for (const path of paths) {
      await listen(
        createServer((socket) => socket.end('REACHED')),
        path,
      )
      await chmod(path, 0o777)
    }
    const server = createHttpServer((_request, response) => response.end('REACHED'))
    await listen(server, 0)
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { stdout } = await script(
      [...paths.map((path) => connect({ path })), connect({ host: '127.0.0.1', port })].join(';'),
    )
    expect(stdout).toMatch(/^(?:ENOENT\n){2}ECONNREFUSED\n$/)
  })

  test('changes no policy, brings none, and makes none count', async () => {
    const kept = await createEnclosed(person, { '.agent-policy.yaml': 'shell: { allow: [npm test] }\n' })
    const attack =
      'echo x > .agent-policy.yaml; rm -f .agent-policy.yaml; mv .agent-policy.yaml old; echo x > new; mv -f new .agent-policy.yaml; true'
    await kept.script(attack)
    expect(readFileSync(join(kept.root, '.agent-policy.yaml'), 'utf8')).toBe('shell: { allow: [npm test] }\n')
    const without = await createEnclosed(person)
    const [made] = await without.scripts([attack, attack])
    expect(existsSync(join(without.root, '.agent-policy.yaml'))).toBe(false)
    expect(made?.notes.join()).toContain('was renamed')
  })

  test('changes no file that other programs obey, also if it renames the folders around it', async () => {
    const files = {
      'a/b/.claude/settings.json': '1',
      '.vscode/tasks.json': '1',
      '.npmrc': '1',
      '.git/config': '[core]\n',
      '.git/modules/sub/config': '1',
      '.git/worktrees/other/commondir': '1',
    }
    const { script, root } = await createEnclosed(person, files)
    await script(
      Object.keys(files)
        .flatMap((path) => {
          const [top = ''] = path.split('/')
          return [`echo 2 > ${path}`, `mv ${top} moved; cp -r moved ${top}; echo 2 > ${path}; rm -rf ${top}`]
        })
        .concat('mkdir -p .git/hooks; echo 2 > .git/hooks/pre-commit')
        .join('\n'),
    )
    for (const [path, text] of Object.entries(files)) expect(readFileSync(join(root, path), 'utf8')).toBe(text)
    expect(existsSync(join(root, '.git/hooks/pre-commit'))).toBe(false)
  })

  test('changes no git folder of a submodule, whatever its name, and makes none obey another folder', async () => {
    const { script, root } = await createEnclosed(person)
    const folders = ['.git', '.git/modules/flat', '.git/modules/libs/foo', '.git/modules/flat/modules/a/b']
    await script(`git init -q .; for folder in ${folders.slice(1).join(' ')}; do git init -q --bare "$folder"; done`)
    await script(
      folders
        .flatMap((folder) => [
          `echo evil >> ${folder}/config`,
          `echo evil > ${folder}/hooks/post-checkout`,
          `echo evil > ${folder}/commondir`,
        ])
        .join('; '),
    )
    for (const folder of folders) {
      expect(readFileSync(join(root, folder, 'config'), 'utf8'), folder).not.toContain('evil')
      expect(existsSync(join(root, folder, 'hooks/post-checkout')), folder).toBe(false)
      expect(existsSync(join(root, folder, 'commondir')), folder).toBe(false)
    }
  })

  test('changes no protected file behind a link, and replaces no such link without a word', async () => {
    const { scripts, root } = await createEnclosed(person, {
      'agents/settings.json': '1',
      'editor/tasks.json': '1',
      'ci/workflows/a.yml': '1',
    })
    await scripts(['ln -s agents .claude; ln -s editor .vscode; ln -s ci .github'])
    const [, replaced] = await scripts([
      'echo 2 > agents/settings.json; echo 2 > editor/tasks.json; echo 2 > ci/workflows/a.yml; mv editor moved',
      'rm .claude .vscode; mkdir .claude .vscode; echo 2 > .claude/settings.json; echo 2 > .vscode/tasks.json',
    ])
    for (const path of ['agents/settings.json', 'editor/tasks.json', 'ci/workflows/a.yml']) {
      expect(readFileSync(join(root, path), 'utf8'), path).toBe('1')
    }
    expect(replaced?.notes.join()).toMatch(/\.claude.*\.vscode/)
  })

  test('opens no protected file by thousands of new ones, by new folders, or by a link', async () => {
    const files = {
      '.husky/_/h': '#!/bin/sh\n',
      '.claude/mcp/servers.json': '{}',
      '.claude/mcp/run.sh': 'echo\n',
      'app/.vscode/tasks.json': '{}',
      '.git/config': '[core]\n',
    }
    const overwrite = Object.keys(files)
      .map((path) => `echo hit >> ${path}`)
      .join('; ')
    const unharmed = ({ root }: { readonly root: string }): void => {
      for (const [path, text] of Object.entries(files)) expect(readFileSync(join(root, path), 'utf8')).toBe(text)
    }
    const byFolders = await createEnclosed(person, files)
    const [, second] = await byFolders.scripts(['seq -f !%g 6000 | xargs mkdir', overwrite])
    unharmed(byFolders)
    expect(second?.notes.join()).toContain('more folders than the sandbox searches')

    const byLink = await createEnclosed(person, files)
    symlinkSync('.claude/mcp/servers.json', join(byLink.root, '.mcp.json'))
    await byLink.scripts([`mkdir z; ln -s ../.husky/_/h z/.envrc; ${overwrite}`, `${overwrite}; rm .husky/_/h`])
    unharmed(byLink)

    const byFiles = await createEnclosed(person, files)
    const [, refused] = await byFiles.scripts(['for i in $(seq 500); do : > "!$i.desktop"; done', overwrite])
    unharmed(byFiles)
    expect(refused?.error).toContain('than the sandbox can protect')
  })

  test('makes git obey no other folder', async () => {
    const { script, scripts, root } = await createEnclosed(person)
    await scripts([`git init -q . && ${git} git commit -q --allow-empty -m x`])
    await script(
      'mkdir evil; cp -r .git/objects .git/refs evil; echo ../evil > .git/commondir; ' +
        String.raw`printf '[core]\nrepositoryformatversion = 0\nfsmonitor = touch HIT\n' > evil/config`,
    )
    expect(existsSync(join(root, '.git/commondir'))).toBe(false)
  })

  test('leaves no process behind: not at its end, not at its limit', async () => {
    const { scripts, root } = await createEnclosed(person)
    const [first, second] = await scripts([
      leave('a') + waitFor('a'),
      { script: `trap '' TERM; ${leave('b')}${waitFor('b')} sleep 60`, timeoutMs: 2000 },
    ])
    expect([first?.timedOut, second?.timedOut]).toEqual([false, true])
    const sizes = (): readonly number[] => ['a', 'b'].map((name) => readFileSync(join(root, name)).length)
    const grow = async (): Promise<boolean> => {
      const before = sizes()
      // Each would write some ten lines. A process that has ended writes none, however slow the machine is.
      await new Promise((resolve) => setTimeout(resolve, 600))
      return !isDeepStrictEqual(sizes(), before)
    }
    expect(sizes().every((size) => size > 0)).toBe(true)
    // On a busy machine the kernel takes a moment to end them all. One that is left would write for ever.
    await expect.poll(grow).toBe(false)
  })

  test('says what the sandbox did not allow, and which setting changes it', async () => {
    const { scripts, base, root } = await createEnclosed(person, { '../../store/a/index.js': '' })
    symlinkSync(join(base, 'store'), join(root, 'node_modules'))
    const [network, readOnly, hidden, made, busy, noPackage, noRepository, linked] = await scripts([
      'node -e \'fetch("http://registry.invalid").catch((e) => { console.error(e.cause.code); process.exit(1) })\'',
      'touch /usr/x',
      'cat /home/nobody-has-this/file',
      'mkdir .claude && echo > .claude/settings.json',
      'mv .claude y',
      'npx --yes a-program-that-is-not-here',
      'git status',
      `node -e 'require("a")'`,
    ])
    expect(network?.notes.join()).toContain('no network')
    expect(readOnly?.notes.join()).toContain('only the workspace')
    expect(hidden?.notes.join()).toContain('workspace.sandbox-folders')
    expect(made?.notes.join()).toContain('".claude"')
    expect(busy?.notes.join()).toContain('cannot be replaced')
    // It ends at once, and not at its time limit.
    expect(noPackage).toMatchObject({ timedOut: false, notes: [expect.stringContaining('no network')] })
    expect(noRepository?.notes.join()).toContain('repository around the workspace')
    expect(linked?.notes.join()).toContain('["node_modules"]')
    expect(existsSync(join(root, '.claude'))).toBe(true)
  })
})

describeEnclosed('an honest command in the sandbox', (person) => {
  test('tests a project that starts a server, and writes files', async () => {
    const { script, root } = await createEnclosed(person, {
      'package.json': '{ "scripts": { "test": "node --test" } }',
      'server.test.js': `
        const { test } = require('node:test'), { createServer } = require('node:http'), fs = require('node:fs')
        test('serves', async () => {
          const server = createServer((_, response) => response.end('inside')).listen(0, '127.0.0.1')
          await new Promise((resolve) => server.once('listening', resolve))
          const text = await (await fetch('http://127.0.0.1:' + server.address().port)).text()
          server.close()
          fs.writeFileSync('result.txt', text)
          fs.writeFileSync(require('node:os').tmpdir() + '/x', text)
        })`,
    })
    const { exitCode, stdout } = await script('npm test')
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('pass 1') })
    expect(readFileSync(join(root, 'result.txt'), 'utf8')).toBe('inside')
  })

  test('uses git: status, add, commit, log', async () => {
    const { scripts } = await createEnclosed(person, { 'file.txt': 'x' })
    const [, status, commit] = await scripts([
      'git init -q .',
      'git status --short',
      `${git} git add file.txt && git commit -q -m first && git log --format=%s && git status --short`,
    ])
    expect(status?.stdout).toBe('?? file.txt\n')
    expect(commit).toMatchObject({ exitCode: 0, stdout: 'first\n', stderr: '' })
  })

  test('uses git in a linked worktree, whose history is outside, and cannot make it obey another folder', async () => {
    const { scripts, root, base } = await createEnclosed(person, { '../main/file.txt': 'x' })
    const main = join(base, 'work', 'main')
    await scripts(
      [`cd ${main} && git init -q . && ${git} git add . && git commit -q -m first && git worktree add -q ${root}/tree`],
      { root: join(base, 'work') },
    )
    const [honest, hostile] = await scripts(
      [
        `${git} git log --format=%s && echo y > new.txt && git add new.txt && git commit -q -m second && git log -1 --format=%s`,
        `echo x > ${main}/.git/hooks/pre-commit; echo x >> ${main}/.git/config; echo x > ${main}/.git/worktrees/tree/commondir; echo x > ${main}/.git/commondir; ` +
          `cat ${main}/file.txt; mv ${main}/.git/worktrees ${main}/.git/w`,
      ],
      { root: join(root, 'tree') },
    )
    expect(honest).toMatchObject({ exitCode: 0, stdout: 'first\nsecond\n' })
    expect(hostile?.stdout).toBe('')
    expect(hostile?.stderr.match(/Read-only file system/g)).toHaveLength(3)
    expect(existsSync(join(main, '.git/worktrees/tree/commondir'))).toBe(true)
    expect(existsSync(join(main, '.git/commondir'))).toBe(false)
  })

  test('is stopped by SIGTERM first, and keeps its exit code and its folder', async () => {
    const { scripts, root } = await createEnclosed(person, { 'sub/x': '' })
    const [stopped, failed, killed, inFolder] = await scripts([
      { script: 'trap "echo saved; exit 3" TERM; while :; do sleep 0.05; done', timeoutMs: 2000 },
      'exit 7',
      'kill -SEGV $$',
      { script: 'pwd', cwd: 'sub' },
    ])
    expect(stopped).toMatchObject({ exitCode: 3, stdout: 'saved\n', timedOut: true })
    expect([failed?.exitCode, killed?.exitCode]).toEqual([7, 139])
    expect(inFolder?.stdout).toBe(`${root}/sub\n`)
  })

  test('reads toolchains and the folders of the setting, and cannot change them', async () => {
    const { script, home, base } = await createEnclosed(person, {
      '../../home/.cargo/bin/tool': 'tool\n',
      '../../home/.cargo/credentials.toml': 'the-secret',
      '../../home/.local/share/uv/credentials/credentials.toml': 'the-secret',
      '../../home/.npm-global/etc/npmrc': 'the-secret',
      '../../home/.gitconfig': '[url "https://user:the-secret@host/"]\ninsteadOf = x\n',
      '../../sdk/file': 'sdk\n',
    })
    const read = `cat ${home}/.cargo/bin/tool ${base}/sdk/file; cat ${home}/.cargo/credentials.toml ${home}/.local/share/uv/credentials/credentials.toml ${home}/.npm-global/etc/npmrc ${home}/.gitconfig; echo x > ${home}/.cargo/bin/tool`
    const { stdout, stderr } = await script(read, { folders: [join(base, 'sdk')] })
    expect(stdout).toBe('tool\nsdk\n')
    expect(stderr).toContain('Read-only')
  })

  test('cannot change the workspace if it only formats', async () => {
    const { scripts, root } = await createEnclosed(person, { 'file.txt': 'x\n' })
    const [output] = await scripts([{ script: 'cat file.txt; echo y > file.txt', access: 'read' }])
    expect(output?.stdout).toBe('x\n')
    expect(readFileSync(join(root, 'file.txt'), 'utf8')).toBe('x\n')
  })
})

describeEnclosed('a workspace around the home folder', (person) => {
  test('hides secrets and the files of copilot-proxy, and keeps what logins run', async () => {
    const { script, home, own, root } = await createEnclosed(person, {
      '../../home/.bashrc': '1',
      '../../home/.aws/credentials': 'the-secret',
      '../../home/.nvm/node': '1',
      '../../home/notes.txt': '1',
    })
    expect(root.startsWith(home)).toBe(false)
    const { stdout } = await script(
      `cat .aws/credentials .ssh/id ${own}/owner-token; echo 2 > .bashrc; echo 2 > .nvm/node; mv .config .c; mkdir -p ${own}; ` +
        `echo 2 > ${own}/config.yaml; echo 2 > notes.txt`,
      { root: home },
    )
    expect(stdout).not.toContain('the-secret')
    expect(stdout).not.toContain('the-token')
    expect(['.bashrc', '.nvm/node', 'notes.txt'].map((path) => readFileSync(join(home, path), 'utf8').trim())).toEqual([
      '1',
      '1',
      '2',
    ])
    expect(existsSync(join(own, 'config.yaml'))).toBe(false)
  })
})
