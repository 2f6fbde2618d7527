import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { runProgram } from '../../src/commands/program.ts'
import { makeFolder } from '../tools/session.ts'
import { createUser, recordOutput, type TestUser } from './harness.ts'

const policy = 'writes:\n  allow: ["src/**"]\n  deny: ["**/gen"]\nshell:\n  allow: ["npm test", "echo \'a b\'"]\n'

/** The workspace is the working folder, which has none of the program's own files. */
async function createWorkspaceUser(): Promise<TestUser> {
  const user = await createUser()
  user.env['COPILOT_PROXY_HOME'] = await makeFolder()
  user.env['COPILOT_PROXY_WORKSPACE_READ_ONLY'] = 'false'
  return user
}

async function createWorkspace(): Promise<TestUser> {
  const user = await createWorkspaceUser()
  await writeFile(join(user.home, '.agent-policy.yaml'), policy)
  await user.run('policy trust --yes')
  return user
}

describe('policy check', () => {
  it.each([
    ['src/a.ts', 0, 'Allowed. .agent-policy.yaml:2 allows "src/**".\nReading: Allowed. Tools may read it.\n'],
    ['src/gen/a.ts', 1, 'Denied. .agent-policy.yaml:3 denies "**/gen".\nReading: Allowed. Tools may read it.\n'],
    [
      'a.ts',
      1,
      'Needs a person: the agent asks first, and other callers are refused. ' +
        'No pattern of writes.allow in .agent-policy.yaml matches "a.ts". To allow it, add a pattern.\n' +
        'Reading: Allowed. Tools may read it.\n',
    ],
    [
      '../a.ts',
      1,
      'Denied. The path "../a.ts" is outside the workspace.\nReading: Denied. The path "../a.ts" is outside the workspace.\n',
    ],
    [
      'src/.env',
      1,
      'Denied. "src/.env" matches the protected pattern ".env*" (settings with passwords and tokens). ' +
        'To allow it, add its exact path "src/.env" to writes.allow in .agent-policy.yaml.\n' +
        'Reading: Denied. "src/.env" looks like a secret: it matches ".env*" (settings with passwords and tokens). ' +
        'To let tools read it, add its exact path to reads.allow in .agent-policy.yaml of the workspace.\n',
    ],
    ['-- npm test', 0, 'Allowed. .agent-policy.yaml:5 allows "npm test".\n'],
    [
      '-- npm --workspace x test',
      1,
      'Needs a person: the agent asks first, and other callers are refused. ' +
        'shell.allow in .agent-policy.yaml does not contain the command "npm --workspace x test". ' +
        '.agent-policy.yaml:5 allows "npm test", but no other arguments. To allow it, add the command.\n',
    ],
  ])('%s', async (words, code, stdout) => {
    const user = await createWorkspace()
    expect(await user.run(`policy check ${words}`)).toEqual({ code, stdout, stderr: '' })
  })

  it('splits a command line of one word', async () => {
    const user = await createWorkspace()
    const stdout = recordOutput()
    expect(await runProgram(['policy', 'check', '--', 'npm test; rm x'], user.context({ stdout }))).toBe(1)
    expect(stdout.text()).toContain('Denied. The command contains ";", which only a shell understands')
    expect(await runProgram(['policy', 'check', '--', "echo  'a b'"], user.context())).toBe(0)
  })

  it.each([
    [
      'false',
      true,
      1,
      'Needs a person: the agent asks first, and other callers are refused. This workspace is read-only.',
    ],
    ['false', 'locked', 1, 'Denied. This workspace is locked, so nothing is written or run, whoever asks.'],
    ['locked', false, 0, 'Allowed.'],
  ])('knows read-only of the workspace itself: %s for all, %s for it', async (all, own, code, words) => {
    const user = await createWorkspace()
    user.env['COPILOT_PROXY_WORKSPACE_READ_ONLY'] = all
    const file = join(user.env['COPILOT_PROXY_HOME'] ?? '', 'config.yaml')
    await writeFile(file, JSON.stringify({ workspaces: [{ path: user.home, 'read-only': own }] }))
    expect(await user.run('policy check src/a.ts')).toMatchObject({ code, stdout: expect.stringContaining(words) })
    expect((await user.run('policy check')).stdout).toMatch(
      own === 'locked' ? /^Read-only\n {2}locked: / : own ? /^Read-only\n {2}yes: / : /^Read-only\n {2}no: /,
    )
    expect(JSON.parse((await user.run('policy check --json')).stdout)).toMatchObject({ read_only: own })
  })

  it('says that workspace.read-only needs a person, and denies what leads out through a link', async () => {
    const user = await createWorkspace()
    await mkdir(join(user.home, 'src'))
    await symlink('/tmp', join(user.home, 'src/out'))
    expect(await user.run('policy check src/out/a.ts')).toMatchObject({
      code: 1,
      stdout:
        'Denied. "src/out/a.ts" cannot be changed: "src/out" is a link. Use the path of the file itself.\n' +
        'Reading: Allowed. Tools may read it.\n',
    })
    user.env['COPILOT_PROXY_WORKSPACE_READ_ONLY'] = undefined
    for (const words of ['src/a.ts', '-- npm test']) {
      const { code, stdout } = await user.run(`policy check ${words}`)
      expect(code).toBe(1)
      expect(stdout).toMatch(/^Needs a person: .* This workspace is read-only\..* The policy alone would allow it: /)
    }
  })

  it('prints JSON', async () => {
    const user = await createWorkspace()
    expect(JSON.parse((await user.run('policy check --json src/a.ts')).stdout)).toEqual({
      path: 'src/a.ts',
      allowed: true,
      always: false,
      asks: false,
      reason: '.agent-policy.yaml:2 allows "src/**".',
      read: { allowed: true, reason: 'Tools may read it.' },
    })
    expect(JSON.parse((await user.run('policy check --json -- rm x')).stdout)).toMatchObject({
      argv: ['rm', 'x'],
      allowed: false,
      asks: true,
    })
    expect(JSON.parse((await user.run('policy check --json')).stdout)).toMatchObject({
      files: ['.agent-policy.yaml'],
      writes: { allow: ['src/**'] },
      shell: {
        allow: [
          ['npm', 'test'],
          ['echo', 'a b'],
        ],
      },
      problem: null,
    })
  })

  it('prints the policy', async () => {
    const user = await createWorkspace()
    const { code, stdout } = await user.run('policy check')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Read-only\n {2}no: the policy decides\nPolicy files\n {2}\.agent-policy\.yaml\nSecrets that may be read\n {2}nothing\nReads denied\n/,
    )
    expect(stdout).toContain('Writes allowed\n  src/**\nWrites denied\n  **/gen\n')
    expect(stdout).toContain("Commands allowed\n  npm test\n  echo 'a b'\n")
  })

  it('takes a workspace', async () => {
    const user = await createWorkspace()
    await mkdir(join(user.home, 'empty'))
    const { code, stdout } = await user.run('policy check --workspace empty')
    expect(code).toBe(0)
    expect(stdout).toContain('empty has no .agent-policy.yaml: nothing is written or run without a question.\n')
    expect(await user.run('policy check --workspace missing')).toMatchObject({ code: 1, stdout: '' })
  })

  it('names the problem of an invalid policy', async () => {
    const user = await createWorkspace()
    await writeFile(join(user.home, '.agent-policy.yaml'), 'writes: {}\nshel: {}\n')
    const { code, stderr } = await user.run('policy check')
    expect(code).toBe(1)
    expect(stderr).toContain('.agent-policy.yaml:2: shel: unknown key `shel`, did you mean `shell`?')
  })

  it.each(['a b', 'npm test', 'a -- npm test', '--'])('refuses %s', async (words) => {
    const user = await createWorkspace()
    const { code, stderr } = await user.run(`policy check ${words}`)
    expect(code).toBe(2)
    expect(stderr).toContain("Run 'copilot-proxy policy check --help' for usage.")
  })
})

test('policy init writes a valid policy that allows nothing, and overwrites none', async () => {
  const user = await createWorkspaceUser()
  const path = join(user.home, '.agent-policy.yaml')
  const stdout = `Created ${path}\nWhen you have changed it, confirm it: copilot-proxy policy trust\n`
  expect(await user.run('policy init')).toEqual({ code: 0, stdout, stderr: '' })
  expect((await user.run('policy trust')).stdout).toBe('There is no policy to confirm.\n')
  expect(await user.run('policy check')).toMatchObject({ code: 0, stderr: '' })
  expect(await user.run('policy check a')).toMatchObject({ code: 1 })
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replaceAll(/^( +)# - /gm, '$1- '))
  expect(await user.run('policy check src/a.ts')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('would allow it, but it came with the folder or has changed'),
  })
  expect((await user.run('policy check')).stdout).toContain('run: copilot-proxy policy trust\n  .agent-policy.yaml\n')
  expect(await user.run('policy trust --yes')).toMatchObject({ code: 0, stdout: expect.stringMatching(/Confirmed/) })
  expect(await user.run('policy check src/a.ts')).toMatchObject({ code: 0 })
  expect(await user.run('policy check -- npm run lint')).toMatchObject({ code: 0 })
  expect(await user.run('policy init')).toEqual({
    code: 1,
    stdout: '',
    stderr: `${path} already exists. To print its rules, run: copilot-proxy policy check\n`,
  })
})

/** A terminal on which the person types this. */
const answer = (text: string) => ({
  interactive: true,
  stdin: (async function* () {
    yield text
  })(),
})

describe('policy trust', () => {
  it('shows the text and asks, and without a terminal it confirms nothing', async () => {
    const user = await createWorkspaceUser()
    await writeFile(join(user.home, '.agent-policy.yaml'), policy)
    const isAllowed = async () => (await user.run('policy check src/a.ts')).code === 0
    expect(await user.run('policy trust')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(policy),
      stderr: 'Nothing was confirmed: there is no terminal to ask on. To confirm it, add --yes.\n',
    })
    expect(JSON.parse((await user.run('policy trust --json')).stdout)).toEqual({
      confirmed: [],
      unconfirmed: ['.agent-policy.yaml'],
    })
    expect(await user.run('policy trust', answer('n\n'))).toMatchObject({ code: 1 })
    expect(await isAllowed()).toBe(false)
    expect(await user.run('policy trust', answer('y\n'))).toMatchObject({ code: 0 })
    expect(await isAllowed()).toBe(true)
    expect((await user.run('policy forget')).stdout).toBe('trust .agent-policy.yaml\n')
    expect(await user.run('policy forget --all')).toMatchObject({ code: 0 })
    expect(await isAllowed()).toBe(false)
  })
})

test('policy trust shows the whole of a long line', async () => {
  const user = await createWorkspaceUser()
  const entries = Array.from({ length: 100 }, (_, at) => `"docs/chapter-${at}.md"`)
  const line = `writes: { allow: [${entries.join(', ')}] }`
  await writeFile(join(user.home, '.agent-policy.yaml'), line)
  expect((await user.run('policy trust', answer('n\n'))).stdout).toContain(line)
})

test('policy init says what to run if the policy could not be confirmed', async () => {
  const user = await createWorkspaceUser()
  await writeFile(join(user.env['COPILOT_PROXY_HOME'] ?? '', 'workspaces'), 'no folder')
  const { code, stdout, stderr } = await user.run('policy init')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^Created .*\.agent-policy\.yaml, but .* copilot-proxy policy trust: .* cannot be written: /)
})

describe('policy init in a project', () => {
  const packageJson = '{"scripts": {"test": "vitest", "deploy": "x", "build:docs": "typedoc\\u001b[2J"}}'

  async function createProject() {
    const user = await createWorkspaceUser()
    const path = join(user.home, '.agent-policy.yaml')
    await writeFile(join(user.home, 'package.json'), packageJson)
    await writeFile(join(user.home, 'pnpm-lock.yaml'), '')
    await writeFile(join(user.home, 'go.mod'), 'module x\n')
    const allows = async (command: string) => (await user.run(`policy check -- ${command}`)).code === 0
    return { user, path, allows }
  }

  it.each([
    ['yes', 'y\n', true],
    ['no', '\n', false],
  ])('shows what it would allow and what that runs, and does it after: %s', async (_, text, isAllowed) => {
    const { user, path, allows } = await createProject()
    const { code, stdout, stderr } = await user.run('policy init', answer(text))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pnpm test +package\.json: vitest$/m)
    expect(stdout).toMatch(/^go test \.\/\.\.\. +go\.mod$/m)
    expect(stdout).not.toContain('deploy')
    expect(stderr).toBe('Allow them in the policy? [y/N] ')
    expect(stdout).toContain(`Created ${path}\n`)
    expect(stdout.includes('it allows nothing')).toBe(!isAllowed)
    expect(await Promise.all(['pnpm test', 'go test ./...'].map(allows))).toEqual([isAllowed, isAllowed])
    expect(await allows('pnpm run deploy')).toBe(false)
    expect(await user.run('policy check src/a.ts')).toMatchObject({ code: 1 })
  })

  it('allows nothing without a terminal, and the proposed commands with --yes', async () => {
    const silent = await createProject()
    expect(await silent.user.run('policy init')).toMatchObject({ code: 0, stderr: '' })
    expect(await silent.allows('pnpm test')).toBe(false)
    expect(await readFile(silent.path, 'utf8')).toContain('    # - pnpm test\n')
    const sure = await createProject()
    const { stdout } = await sure.user.run('policy init --yes --json')
    expect(JSON.parse(stdout)).toMatchObject({
      path: sure.path,
      allowed: true,
      proposed: expect.arrayContaining([{ argv: ['pnpm', 'run', 'test'], file: 'package.json' }]),
    })
    expect(await sure.allows('pnpm run test')).toBe(true)
  })

  it('prints the policy with --print, and writes nothing', async () => {
    const { user, path } = await createProject()
    const { code, stdout } = await user.run('policy init --print')
    expect([code, stdout]).toEqual([0, expect.stringContaining('    - pnpm test\n    - pnpm run test\n')])
    await expect(readFile(path)).rejects.toThrow('ENOENT')
    await writeFile(path, stdout)
    await user.run('policy trust --yes')
    expect(await user.run('policy check -- pnpm test')).toMatchObject({ code: 0 })
  })

  it('asks nothing if there is a policy already', async () => {
    const { user, path } = await createProject()
    await writeFile(path, '')
    expect(await user.run('policy init', answer('y\n'))).toMatchObject({ code: 1, stdout: '' })
  })
})

async function createConfigured() {
  const user = await createWorkspaceUser()
  const root = await makeFolder({
    '.agent-policy.yaml':
      "writes: { allow: ['app/**', 'src/**'], deny: ['**/gen'] }\nshell: { allow: [npm test, { run: make, in: app }] }\n",
    'app/a.ts': '',
    'app/inner/.agent-policy.yaml': 'writes: { allow: [b.ts] }\n',
  })
  await writeFile(join(user.env['COPILOT_PROXY_HOME'] ?? '', 'config.yaml'), `workspaces: ['${root}']\n`)
  await user.run('policy trust --yes', { workingDir: () => root })
  return { user, root, inApp: { workingDir: () => join(root, 'app') } }
}

describe('in a subfolder of a configured workspace, policy check', () => {
  it('uses the policy of the workspace, and takes paths and commands from the subfolder', async () => {
    const { user, root, inApp } = await createConfigured()
    expect(await user.run('policy check a.ts', inApp)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('.agent-policy.yaml:1 allows "app/**".'),
    })
    expect(await user.run('policy check gen/a.ts', inApp)).toMatchObject({ code: 1 })
    expect(await user.run('policy check ../src/a.ts', inApp)).toMatchObject({ code: 0 })
    expect(await user.run('policy check ../../a.ts', inApp)).toMatchObject({ code: 1 })
    expect(await user.run('policy check -- make', inApp)).toMatchObject({ code: 0 })
    expect(await user.run('policy check -- npm test', inApp)).toMatchObject({ code: 1 })
    expect(await user.run('policy check -- npm test', { workingDir: () => root })).toMatchObject({ code: 0 })
    const { stdout } = await user.run('policy check --json', inApp)
    expect(JSON.parse(stdout)).toMatchObject({
      workspace: root,
      files: ['.agent-policy.yaml', 'app/inner/.agent-policy.yaml'],
    })
  })

  it('narrows by the policy of the subfolder', async () => {
    const { user, root } = await createConfigured()
    const inInner = { workingDir: () => join(root, 'app/inner') }
    expect(await user.run('policy check b.ts', inInner)).toMatchObject({ code: 0 })
    expect(await user.run('policy check a.ts', inInner)).toMatchObject({ code: 1 })
  })

  it('does the same for a folder that --workspace names, also through a link', async () => {
    const { user, root } = await createConfigured()
    await symlink(join(root, 'app'), join(user.home, 'link'))
    expect(await user.run(`policy check --workspace ${root}/app gen/a.ts`)).toMatchObject({ code: 1 })
    expect(await user.run('policy check --workspace link a.ts')).toMatchObject({ code: 0 })
    expect(await user.run('policy check --workspace link gen/a.ts')).toMatchObject({ code: 1 })
    expect(await user.run(`policy check --workspace ${root}/missing a.ts`)).toMatchObject({ code: 1, stdout: '' })
  })

  it('leaves a folder beside the workspace alone', async () => {
    const { user, root } = await createConfigured()
    const beside = await makeFolder({ '.agent-policy.yaml': "writes: { allow: ['b.ts'] }\n" })
    expect(beside.startsWith(root)).toBe(false)
    await user.run('policy trust --yes', { workingDir: () => beside })
    expect(await user.run('policy check b.ts', { workingDir: () => beside })).toMatchObject({ code: 0 })
  })
})
