import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, test, vi } from 'vitest'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { openPolicy } from '../../../src/workspace/policy/open-policy.ts'
import type { Policy } from '../../../src/workspace/policy/policy.ts'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { createTree } from '../tree.ts'
import { confirming } from './confirm.ts'

const name = '.agent-policy.yaml'

const ignore = (): void => {}

interface Fixture {
  readonly root: string
  readonly outside: string
  readonly policy: Policy
  readonly onChange: ReturnType<typeof vi.fn<() => void>>
  readonly warnings: readonly string[]
  readonly put: (path: string, text: string | Uint8Array) => Promise<void>
}

/** Creates a workspace with these files, by path. */
async function createFixture(files: Readonly<Record<string, string>> = {}): Promise<Fixture> {
  const { root, outside } = await createTree()
  const put = async (path: string, text: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  for (const [path, text] of Object.entries(files)) await put(path, text)
  const onChange = vi.fn<() => void>()
  const warnings: string[] = []
  const warn = (_fields: unknown, message?: string): void => void warnings.push(message ?? '')
  const log = { debug: ignore, info: ignore, warn, error: ignore }
  return {
    root,
    outside,
    policy: openPolicy(await openFolder(root), { onChange, consents: confirming(root), log }),
    onChange,
    warnings,
    put,
  }
}

async function mayWrite(text: string, path: string): Promise<boolean> {
  const { policy } = await createFixture({ [name]: text })
  return (await policy.mayWrite(path)).isAllowed
}

describe('G01: without a policy file nothing is written or run without a question', () => {
  it('is open, and the reason says how to create one', async () => {
    const { policy } = await createFixture()
    const reason =
      'There is no .agent-policy.yaml in the workspace, so nothing is written or run without a question. ' +
      'To create one, run: copilot-proxy policy init'
    expect(await policy.mayWrite('src/a.ts')).toEqual({ isAllowed: false, isOpen: true, reason })
    expect(await policy.mayRun(['npm', 'test'])).toEqual({ isAllowed: false, isOpen: true, reason })
  })

  it.each(['.env', '.git/hooks/x', '.agent-policy.yaml', 'node_modules/x/index.js'])('denies %s', async (path) => {
    const { policy } = await createFixture()
    const decision = await policy.mayWrite(path)
    expect(decision).toEqual({ isAllowed: false, reason: expect.stringContaining('protected pattern') })
  })

  it('an inner policy denies, also if it is invalid', async () => {
    const { policy } = await createFixture({
      [`src/${name}`]: 'writes: { deny: [a.ts] }',
      [`lib/${name}`]: 'shel: {}',
    })
    expect(await policy.mayWrite('src/a.ts')).toEqual({ isAllowed: false, reason: expect.stringContaining('denies') })
    expect(await policy.mayWrite('src/b.ts')).toMatchObject({ isOpen: true })
    expect(await policy.mayRun(['npm', 'test'], 'lib')).not.toHaveProperty('isOpen')
  })

  it('nor if only an inner folder has one', async () => {
    const { policy } = await createFixture({
      [`src/${name}`]: 'writes: { allow: ["**"] }\nshell: { allow: [npm test] }',
    })
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isOpen: true })
    expect(await policy.mayRun(['npm', 'test'], 'src')).toMatchObject({ isOpen: true })
    expect(await policy.describe()).toMatchObject({ files: [`src/${name}`], writes: { allow: [] } })
  })

  it.each(['', '# nothing\n', 'writes:\nshell:\n', 'writes:\n  allow:\nshell:\n  allow:\n', 'writes: { deny: [x] }'])(
    'also if it allows nothing: %j',
    async (text) => {
      const { policy } = await createFixture({ [name]: text })
      expect(await policy.mayWrite('src/a.ts')).toEqual({
        isAllowed: false,
        isOpen: true,
        reason: 'No pattern of writes.allow in .agent-policy.yaml matches "src/a.ts". To allow it, add a pattern.',
      })
      expect(await policy.mayRun(['npm', 'test'])).toMatchObject({ isOpen: true })
    },
  )
})

const example = `# what an agent may do
writes:
  allow: ["src/**/*.ts", "*.md"]
  deny:
    - "**/dist/**"
    - src/generated
shell:
  allow:
    - npm test
    - git commit -m 'a message'
    - ./scripts/build.sh --fast
`

test.each([
  ['src/a.ts', '.agent-policy.yaml:3 allows "src/**/*.ts".'],
  ['src/in/ner/a.ts', '.agent-policy.yaml:3 allows "src/**/*.ts".'],
  ['./src/../src/a.ts', '.agent-policy.yaml:3 allows "src/**/*.ts".'],
  ['docs/README.md', '.agent-policy.yaml:3 allows "*.md".'],
])('allows a write to %s and names the rule', async (path, reason) => {
  const { policy } = await createFixture({ [name]: example })
  expect(await policy.mayWrite(path)).toEqual({ isAllowed: true, reason })
})

test.each([
  ['src/dist/a.ts', '.agent-policy.yaml:5 denies "**/dist/**".'],
  ['src/DIST/a.ts', '.agent-policy.yaml:5 denies "**/dist/**".'],
  ['src/generated/deep/a.ts', '.agent-policy.yaml:6 denies "src/generated".'],
  ['', 'The path is the workspace itself, which is a folder.'],
  ['../x.ts', 'The path "../x.ts" is outside the workspace.'],
  ['src/../../x.ts', 'The path "src/../../x.ts" is outside the workspace.'],
])('denies a write to "%s" and says why', async (path, reason) => {
  const { policy } = await createFixture({ [name]: example })
  expect(await policy.mayWrite(path)).toEqual({ isAllowed: false, reason })
})

describe('G08: deny takes precedence, and protected files stay protected', () => {
  it.each(['.env', 'src/.env', 'a.pem', 'src/x/a.PEM', 'dist/a.js', 'a/dist/b/c.js', 'lib/dist'])(
    'denies %s in spite of allow **',
    async (path) => {
      expect(await mayWrite('writes: { allow: ["**"], deny: [.env, "**/*.pem", dist] }', path)).toBe(false)
    },
  )

  it.each([
    '.git/config',
    '.git',
    'sub/.git/hooks/pre-commit',
    '.agent-policy.yaml',
    'sub/.agent-policy.yaml',
    'node_modules/x/index.js',
    'sub/node_modules/x.js',
    '.env',
    '.env.local',
    '.envrc',
    '.ENV',
    'sub/.Env.Production',
    'server.pem',
    'SERVER.PEM',
    'tls/server.key',
    '.ssh/id_rsa',
    'id_ed25519.pub',
    'x.p12',
    '.npmrc',
    '.git-credentials',
  ])('denies %s unless it is named', async (path) => {
    for (const glob of ['**', '**/*', '*', '.*', '{**,x}']) {
      expect(await mayWrite(`writes: { allow: ["${glob}"] }`, path), glob).toBe(false)
    }
    expect(await mayWrite(`writes: { allow: ["${path}"] }`, path)).toBe(true)
    expect(await mayWrite(`writes: { allow: ["./${path}"] }`, path)).toBe(true)
    expect(await mayWrite(`writes: { allow: ["${path}"], deny: ["${path}"] }`, path)).toBe(false)
  })

  it('does not allow another file of the same name', async () => {
    expect(await mayWrite('writes: { allow: [".env"] }', 'sub/.env')).toBe(false)
  })

  it.each(['.gitignore', '.github/dependabot.yaml', 'src/env.ts', 'keys.ts', 'git/x', 'environment'])(
    'protects no %s',
    async (path) => {
      expect(await mayWrite('writes: { allow: ["**"] }', path)).toBe(true)
    },
  )

  it('states how to allow it', async () => {
    const { policy } = await createFixture({ [name]: 'writes: { allow: ["**"] }' })
    expect(await policy.mayWrite('sub/.env.local')).toEqual({
      isAllowed: false,
      reason:
        '"sub/.env.local" matches the protected pattern ".env*" (settings with passwords and tokens). ' +
        'To allow it, add its exact path "sub/.env.local" to writes.allow in .agent-policy.yaml.',
    })
  })

  it.each(['dist', 'dist/', '{dist,lib/out}', '{dist,lib/out}/'])('denies all below a folder: %s', async (glob) => {
    const text = `writes: { allow: ["**"], deny: ["${glob}"] }`
    expect(await mayWrite(text, 'dist/x')).toBe(false)
    expect(await mayWrite(text, 'a/dist/b/x')).toBe(false)
    expect(await mayWrite(text, 'lib/out/x')).toBe(!glob.includes('out'))
    expect(await mayWrite(text, 'lib/x')).toBe(true)
  })

  it.each([
    '.GIT/config',
    '.git./config',
    '.git::$INDEX_ALLOCATION/x',
    'GIT~1/config',
    'Node_Modules/x',
    '.g\u200dit/x',
  ])('G09: denies the spelling %j', async (path) => {
    expect(await mayWrite('writes: { allow: ["**"] }', path)).toBe(false)
  })
})

describe('G10: an invalid policy means read-only and names the line', () => {
  it.each([
    ['writes:\n  alow: ["**"]\n', '.agent-policy.yaml:2: writes.alow: unknown key `alow`'],
    ['writes: { allow: ["**"] }\nshel: {}\n', '.agent-policy.yaml:2: shel: unknown key `shel`, did you mean `shell`?'],
    ['writes:\n  allow: "**"\n', '.agent-policy.yaml:2: writes.allow: expected a list of texts, got "**".'],
    ['writes:\n  allow:\n    - "**"\n    - 7\n', '.agent-policy.yaml:4: writes.allow.1: expected a text, got 7.'],
    ['writes:\n  allow:\n    - ""\n', '.agent-policy.yaml:3: writes.allow.0: expected a text that is not empty'],
    ['- x\n', '.agent-policy.yaml:1: expected a table with reads, writes and shell, got a list.'],
    ['writes: yes\n', '.agent-policy.yaml:1: writes: expected a table with allow and deny'],
    ['writes: {}\n\nwrites: {}\n', '.agent-policy.yaml:3: writes: duplicate key.'],
    ['writes: {\n', '.agent-policy.yaml:2: '],
    ['writes: {}\n---\nwrites: {}\n', '.agent-policy.yaml:2: a second document starts here'],
    ['writes: { allow: [!!js/function "x"] }\n', '.agent-policy.yaml:1: tags (!name) are not supported'],
    ['__proto__: {}\n', '.agent-policy.yaml:1: __proto__: this key is not allowed'],
    [
      'writes:\n  allow:\n    - src\n    - ../x/**\n',
      '.agent-policy.yaml:4: writes.allow: "../x/**" is not allowed here. ',
    ],
    ['writes:\n  deny: ["!x"]\n', '.agent-policy.yaml:2: writes.deny: "!x" is not allowed here. '],
    ['writes:\n  deny: ["[x"]\n', '.agent-policy.yaml:2: writes.deny: "[x" is not allowed here. '],
    [
      'shell:\n  allow:\n    - npm test && rm x\n',
      '.agent-policy.yaml:3: shell.allow: "npm test && rm x" is not allowed here. ',
    ],
    [
      'shell:\n  network:\n    - packages.example.org\n    - https://example.com\n',
      '.agent-policy.yaml:4: shell.network: "https://example.com" is not allowed here. ',
    ],
    ['shell:\n  network:\n    - localhost\n', '.agent-policy.yaml:3: shell.network: "localhost" is not allowed here. '],
    ['shell:\n  network: example.com\n', '.agent-policy.yaml:2: shell.network: expected a list of texts, got'],
    ['shell:\n  allow:\n    - npm *\n', '.agent-policy.yaml:3: shell.allow: "npm *" is not allowed here. '],
  ])('%j', async (text, detail) => {
    const { policy, warnings } = await createFixture({ [name]: text })
    const { isAllowed, reason } = await policy.mayWrite('src/a.ts')
    expect(isAllowed).toBe(false)
    expect(reason).toContain('The workspace is read-only, because its policy is invalid. ')
    expect(reason).toContain(detail)
    expect(reason).not.toMatch(/[.?]\.$/)
    expect(await policy.mayRun(['npm', 'test'])).toEqual({ isAllowed: false, reason })
    expect(await policy.describe()).toMatchObject({ writes: { allow: [] }, shell: { allow: [] }, problem: reason })
    expect(warnings).toEqual([reason])
  })

  it('5 MB', async () => {
    const { policy } = await createFixture({ [name]: `writes: { allow: ["**"] }\n${'#'.repeat(5 * 1024 * 1024)}` })
    expect(await policy.mayWrite('a')).toEqual({
      isAllowed: false,
      reason:
        'The workspace can be neither read nor changed, because its policy is invalid. ' +
        '".agent-policy.yaml" has 5 MB; the limit is 64 KB.',
    })
  })

  it('aliases that expand to millions of nodes', async () => {
    const levels = Array.from({ length: 9 }, (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(9)}]`)
    const { policy } = await createFixture({ [name]: `a0: &a0 [x]\n${levels.join('\n')}\n` })
    expect(await policy.mayWrite('a')).toMatchObject({ isAllowed: false })
  })

  it('more than 1000 entries', async () => {
    const { policy } = await createFixture({ [name]: `writes:\n  allow:\n${'    - "**"\n'.repeat(1001)}` })
    const { reason } = await policy.mayWrite('a')
    expect(reason).toContain('.agent-policy.yaml:3: writes.allow: expected at most 1000 entries')
  })

  it('not UTF-8', async () => {
    const { policy, put } = await createFixture()
    await put(name, Buffer.from([0x77, 0xff, 0xfe]))
    expect(await policy.mayWrite('a')).toEqual({
      isAllowed: false,
      reason:
        'The workspace can be neither read nor changed, because its policy is invalid. .agent-policy.yaml is not UTF-8 text.',
    })
  })

  it('unreadable', async () => {
    const { root } = await createFixture({ [name]: 'writes: { allow: ["**"] }' })
    // Simulate the error, because the tests may run as root, who can read all files.
    const detail = 'Permission to access ".agent-policy.yaml" was denied.'
    const readFile = (): Promise<never> => Promise.reject(new ToolError({ kind: 'failed', detail }))
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
    const policy = openPolicy({ ...(await openFolder(root)), readFile }, { consents: confirming(root), log })
    expect(await policy.mayWrite('a')).toEqual({
      isAllowed: false,
      reason: `The workspace can be neither read nor changed, because its policy is invalid. ${detail}`,
    })
  })

  it('a folder, a link, a broken link', async () => {
    const { policy, root, outside, put } = await createFixture()
    await mkdir(join(root, name))
    expect((await policy.mayWrite('a')).reason).toContain('.agent-policy.yaml is not a regular file.')
    await rm(join(root, name), { recursive: true })
    await put('open.yaml', 'writes: { allow: ["**"] }')
    for (const target of ['open.yaml', 'missing.yaml', join(outside, 'x')]) {
      await symlink(target, join(root, name))
      const { isAllowed, reason } = await policy.mayWrite('a')
      expect(isAllowed).toBe(false)
      expect(reason).toContain('.agent-policy.yaml is not a regular file.')
      await rm(join(root, name))
    }
  })

  it('of an inner folder: that folder is read-only', async () => {
    const { policy } = await createFixture({ [name]: 'writes: { allow: ["**"] }', [`src/in/${name}`]: 'wirtes: {}\n' })
    expect(await policy.mayWrite('src/a.ts')).toMatchObject({ isAllowed: true })
    const { isAllowed, reason } = await policy.mayWrite('src/in/ner/a.ts')
    expect(isAllowed).toBe(false)
    expect(reason).toContain(
      'The folder "src/in" is read-only, because its policy is invalid. src/in/.agent-policy.yaml:1: ',
    )
    expect(await policy.describe()).toMatchObject({ problem: reason, writes: { allow: ['**'] } })
  })
})

describe('G11: the policy of an inner folder may only narrow', () => {
  const parent = 'writes: { allow: ["src/**"], deny: ["**/*.sql"] }\nshell: { allow: [npm test, npm start] }\n'

  it('cannot allow what the parent does not', async () => {
    const { policy } = await createFixture({
      [name]: parent,
      [`lib/${name}`]: 'writes: { allow: ["**"] }',
      [`src/${name}`]: 'writes: { allow: ["**"] }\nshell: { allow: [rm -rf x, npm test] }',
    })
    expect(await policy.mayWrite('lib/a.ts')).toMatchObject({ isAllowed: false })
    expect(await policy.mayWrite('src/a.sql')).toMatchObject({ isAllowed: false })
    expect(await policy.mayRun(['rm', '-rf', 'x'], 'src')).toMatchObject({ isAllowed: false })
    expect(await policy.mayWrite('src/a.ts')).toEqual({
      isAllowed: true,
      reason: '.agent-policy.yaml:1 allows "src/**". src/.agent-policy.yaml:1 allows "**".',
    })
    expect(await policy.mayRun(['npm', 'test'], 'src')).toMatchObject({ isAllowed: true })
  })

  it('narrows the hosts that commands reach, also without a list of commands', async () => {
    const { policy } = await createFixture({
      [name]: 'shell:\n  allow: [{ run: npm ci, in: [., "*"] }]\n  network: [packages.example.org, "*.example.com"]\n',
      [`a/${name}`]: 'shell: { network: [evil.test, x.example.com, "*.example.org"] }',
      [`b/${name}`]: 'shell: { network: }',
      [`c/${name}`]: 'writes: { deny: [x] }',
    })
    const hostsIn = async (folder: string) => {
      const { isAllowed, reason, network } = await policy.mayRun(['npm', 'ci'], folder)
      expect(isAllowed).toBe(true)
      return { reaches: /In the sandbox, it reaches (.*)\.$/.exec(reason)?.[1], isNone: network === undefined }
    }
    const all = { reaches: 'packages.example.org, *.example.com', isNone: false }
    expect(await hostsIn('')).toEqual(all)
    expect(await hostsIn('c')).toEqual(all)
    expect(await hostsIn('a')).toEqual({ reaches: 'packages.example.org, x.example.com', isNone: false })
    expect(await hostsIn('b')).toEqual({ reaches: undefined, isNone: true })
    expect(await policy.mayRun(['npm', 'x'])).not.toHaveProperty('network')
    expect((await policy.describe()).shell.network).toEqual(['packages.example.org', '*.example.com'])
  })

  it('narrows by paths relative to its folder', async () => {
    const { policy } = await createFixture({
      [name]: parent,
      [`src/app/${name}`]: 'writes: { allow: ["ui/*.ts"] }\nshell: { allow: [npm test] }',
    })
    expect(await policy.mayWrite('src/app/ui/a.ts')).toMatchObject({ isAllowed: true })
    expect(await policy.mayWrite('src/ui/a.ts')).toMatchObject({ isAllowed: true })
    expect(await policy.mayWrite('src/app/a.ts')).toEqual({
      isAllowed: false,
      isOpen: true,
      reason: 'No pattern of writes.allow in src/app/.agent-policy.yaml matches "a.ts". To allow it, add a pattern.',
    })
    expect(await policy.mayRun(['npm', 'start'])).toMatchObject({ isAllowed: true })
    expect(await policy.mayRun(['npm', 'start'], 'src/app/ui')).toMatchObject({ isAllowed: false })
  })

  it('does not narrow if a list is absent', async () => {
    const { policy } = await createFixture({ [name]: parent, [`src/${name}`]: 'writes: { deny: [gen] }' })
    expect(await policy.mayWrite('src/a.ts')).toEqual({
      isAllowed: true,
      reason: '.agent-policy.yaml:1 allows "src/**".',
    })
    expect(await policy.mayWrite('src/gen/a.ts')).toMatchObject({ reason: 'src/.agent-policy.yaml:1 denies "gen".' })
    expect(await policy.mayRun(['npm', 'test'], 'src')).toMatchObject({ isAllowed: true })
  })

  it('cannot unprotect a file', async () => {
    const { policy } = await createFixture({
      [name]: 'writes: { allow: ["**"] }',
      [`src/${name}`]: 'writes: { allow: [.env] }',
    })
    expect(await policy.mayWrite('src/.env')).toMatchObject({ isAllowed: false })
  })
})

const npmTest = ['npm', 'test']
const rulesOf = (text: string) => createFixture({ [name]: `shell:\n  allow:\n${text}` })
const mayRun = async (text: string, folder: string) =>
  (await (await rulesOf(text)).policy.mayRun(npmTest, folder)).isAllowed

describe('commands', () => {
  it.each([
    [['npm', 'test'], '.agent-policy.yaml:9 allows "npm test".'],
    [['git', 'commit', '-m', 'a message'], `.agent-policy.yaml:10 allows "git commit -m 'a message'".`],
    [['scripts/build.sh', '--fast'], '.agent-policy.yaml:11 allows "./scripts/build.sh --fast".'],
  ])('allows %j', async (argv, reason) => {
    const { policy } = await createFixture({ [name]: example })
    expect(await policy.mayRun(argv)).toEqual({ isAllowed: true, reason })
  })

  it('reads a program with a slash as a path relative to the working folder', async () => {
    const inSource = '    - { run: ./scripts/build.sh --fast, in: [src, scripts] }\n'
    const { policy } = await createFixture({ [name]: example + inSource })
    expect(await policy.mayRun(['../scripts/build.sh', '--fast'], 'src')).toMatchObject({ isAllowed: true })
    expect(await policy.mayRun(['./scripts/build.sh', '--fast'], 'src')).toMatchObject({ isAllowed: false })
    expect(await policy.mayRun(['build.sh', '--fast'], 'scripts')).toMatchObject({ isAllowed: false })
  })

  it.each([
    ['npm', 'test', '--', '-x'],
    ['npm', '--prefix', '/tmp/x', 'test'],
    ['npm'],
    ['npm', 'Test'],
    ['npm', 'test', ''],
    ['npm test'],
    ['NPM', 'test'],
    ['./npm', 'test'],
    ['/usr/bin/npm', 'test'],
    ['git', '-c', 'core.pager=sh', 'commit', '-m', 'a message'],
    ['git', 'commit', '-m', 'a', 'message'],
    ['git', 'diff', '--ext-diff', '--output=x'],
    ['find', '.', '-exec', 'sh', ';'],
    ['sort', '-o', 'x'],
    ['tar', '--to-command', 'sh'],
    ['node', '-e', '1'],
    ['npm', 'test\0'],
    [],
    [''],
  ])('G25: denies %s %s %s %s %s', async (...argv) => {
    const { policy } = await createFixture({ [name]: example })
    expect(await policy.mayRun(argv)).toMatchObject({ isAllowed: false })
  })

  it('names the nearest rule', async () => {
    const { policy } = await createFixture({ [name]: example })
    expect(await policy.mayRun(['npm', 'test', '--watch'])).toEqual({
      isAllowed: false,
      isOpen: true,
      reason:
        'shell.allow in .agent-policy.yaml does not contain the command "npm test --watch". ' +
        '.agent-policy.yaml:9 allows "npm test", but no other arguments. To allow it, add the command.',
    })
  })

  describe('in another folder than that of the policy', () => {
    it('need a person unless an entry names the folder, and the reason says how to allow it', async () => {
      const { policy } = await rulesOf('    - npm test\n    - make\n')
      expect(await policy.mayRun(npmTest)).toMatchObject({ isAllowed: true })
      expect(await policy.mayRun(npmTest, 'docs')).toEqual({
        isAllowed: false,
        isOpen: true,
        reason:
          '.agent-policy.yaml:3 allows "npm test" in the root of the workspace only, and not in "docs". ' +
          'To allow it there, add to shell.allow: { run: "npm test", in: "docs" }.',
      })
    })

    it.each([
      ['packages/a', ['packages/a'], ['packages', 'packages/b', 'packages/a/x', 'x/packages/a', '']],
      ['packages/*', ['packages/a', 'packages/b'], ['packages', 'packages/a/x', 'packages/a/node_modules', '']],
      ['packages/**', ['packages/a', 'packages/a/x'], ['packages', 'packages/node_modules/x', 'x/packages/a']],
      ['docs/', ['docs'], ['x/docs', 'docs/a']],
      ['/docs', ['docs'], ['x/docs']],
      ['[., docs]', ['', 'docs'], ['src']],
      ['"**"', ['a', 'a/b'], ['', 'node_modules/x', 'a/.venv', '.git/hooks']],
      ['node_modules/x', ['node_modules/x'], ['node_modules/y']],
    ])('an entry with in: %s holds there and nowhere else', async (folders, allowed, denied) => {
      const entry = `    - { run: npm test, in: ${folders} }\n`
      for (const folder of allowed) expect([folder, await mayRun(entry, folder)]).toEqual([folder, true])
      for (const folder of denied) expect([folder, await mayRun(entry, folder)]).toEqual([folder, false])
    })

    it('are allowed by a policy of the folder too, but not by one that came with a dependency', async () => {
      const { policy } = await createFixture({
        [name]: 'shell: { allow: [npm test] }',
        [`packages/a/${name}`]: 'shell: { allow: [npm test, rm x] }',
        [`node_modules/x/${name}`]: 'shell: { allow: [npm test] }',
      })
      expect(await policy.mayRun(npmTest, 'packages/a')).toMatchObject({ isAllowed: true })
      expect(await policy.mayRun(['rm', 'x'], 'packages/a')).toMatchObject({ isAllowed: false })
      expect(await policy.mayRun(npmTest, 'packages/a/x')).toMatchObject({ isAllowed: false })
      expect(await policy.mayRun(npmTest, 'node_modules/x')).toMatchObject({ isAllowed: false })
    })

    it('an entry that names a folder is not widened by the policy of another one', async () => {
      const { policy } = await createFixture({
        [name]: 'shell: { allow: [{ run: npm test, in: packages/a }] }',
        [`packages/b/${name}`]: 'shell: { allow: [npm test] }',
      })
      expect(await policy.mayRun(npmTest, 'packages/a')).toMatchObject({ isAllowed: true })
      expect(await policy.mayRun(npmTest, 'packages/b')).toMatchObject({ isAllowed: false })
    })

    it.each([
      ['{ run: npm test, in: ../x }', ':3: shell.allow: "npm test" is not allowed here. '],
      ['{ run: npm test, in: [] }', ':3: '],
      ['{ run: npm test }', ':3: '],
      ['{ run: npm test, in: docs, also: x }', ':3: '],
      ['{ run: "npm test && x", in: docs }', ':3: shell.allow: '],
      ['{ run: npm test, in: "@(a|b)" }', ':3: shell.allow: '],
    ])('%s makes the policy invalid', async (entry, problem) => {
      const { policy } = await rulesOf(`    - ${entry}\n`)
      expect((await policy.mayRun(npmTest)).reason).toContain(name + problem)
    })

    it('are described', async () => {
      const { policy } = await rulesOf('    - npm test\n    - { run: npm test, in: docs }\n')
      expect((await policy.describe()).shell.allow).toEqual([npmTest, { argv: npmTest, in: ['docs'] }])
    })
  })

  it('denies a folder outside the workspace', async () => {
    const { policy } = await createFixture({ [name]: example })
    expect(await policy.mayRun(['npm', 'test'], '../x')).toMatchObject({ isAllowed: false })
  })
})

describe('a policy that changes', () => {
  it('applies to the next decision', async () => {
    const { policy, put, root, onChange } = await createFixture({ [name]: 'writes: { allow: [a] }' })
    expect(await policy.mayWrite('a')).toMatchObject({ isAllowed: true })
    expect(onChange).not.toHaveBeenCalled()
    // Keep the size, the times and the inode.
    await put(name, 'writes: { allow: [b] }')
    await utimes(join(root, name), 0, 0)
    expect(await policy.mayWrite('a')).toMatchObject({ isAllowed: false })
    expect(await policy.mayWrite('b')).toMatchObject({ isAllowed: true })
    expect(onChange).toHaveBeenCalledTimes(1)
    await put('new.yaml', 'writes: [')
    await rename(join(root, 'new.yaml'), join(root, name))
    expect(await policy.mayWrite('b')).toMatchObject({ isAllowed: false })
    expect(onChange).toHaveBeenCalledTimes(2)
    await rm(join(root, name))
    expect((await policy.mayWrite('b')).reason).toContain('There is no .agent-policy.yaml')
    expect(onChange).toHaveBeenCalledTimes(3)
    await put(name, 'writes: { allow: [b] }')
    expect(await policy.mayWrite('b')).toMatchObject({ isAllowed: true })
    expect(onChange).toHaveBeenCalledTimes(4)
  })

  it('is read by each of many decisions at once', async () => {
    const { policy, put, onChange } = await createFixture({ [name]: 'writes: { allow: [a] }' })
    await policy.mayWrite('a')
    await put(name, 'writes: { allow: [b] }')
    const decisions = await Promise.all(Array.from({ length: 20 }, () => policy.mayWrite('b')))
    expect(decisions.every(({ isAllowed }) => isAllowed)).toBe(true)
    expect(onChange).toHaveBeenCalledTimes(1)
  })
})

test('describes the rules', async () => {
  const { policy } = await createFixture({ [name]: example, [`src/${name}`]: 'writes: { deny: [x] }' })
  const { files, writes, shell, problem } = await policy.describe()
  expect(files).toEqual([name, `src/${name}`])
  expect(writes.allow).toEqual(['src/**/*.ts', '*.md'])
  expect(writes.deny).toEqual(['**/dist/**', 'src/generated'])
  expect(writes.protected).toEqual(expect.arrayContaining(['.git', '.env*', name, '.vscode/tasks.json']))
  expect(shell.allow).toEqual([
    ['npm', 'test'],
    ['git', 'commit', '-m', 'a message'],
    ['./scripts/build.sh', '--fast'],
  ])
  expect(problem).toBeUndefined()
})

describe('a policy that takes long', () => {
  const honest = Array.from({ length: 900 }, (_, at) => `    - src/part-${at}/**/*.ts\n`).join('')

  it('to read is read if it is only long', async () => {
    const { policy } = await createFixture({ [name]: `writes:\n  allow:\n${honest}` })
    expect(await policy.mayWrite('src/part-899/x/a.ts')).toEqual({
      isAllowed: true,
      reason: '.agent-policy.yaml:902 allows "src/part-899/**/*.ts".',
    })
    expect(await policy.mayWrite('src/part-900/a.ts')).toMatchObject({ isAllowed: false })
  })

  it('to read is invalid with its line, however long it is', async () => {
    const { policy } = await createFixture({ [name]: `writes:\n  allow:\n${honest}    - [\n` })
    expect(await policy.mayWrite('src/part-1/a.ts')).toMatchObject({
      isAllowed: false,
      reason: expect.stringMatching(/because its policy is invalid\. \.agent-policy\.yaml:90[34]: /),
    })
  })

  it('to compare with a path denies reading the path', async () => {
    const slow = Array.from({ length: 60 }, (_, at) => `    - "*${'a'.repeat(900)}?${at}"\n`).join('')
    const { policy } = await createFixture({ [name]: `reads:\n  deny:\n${slow}` })
    const rules = await policy.readRules()
    expect(await rules.decide('a'.repeat(4000))).toEqual({
      isAllowed: false,
      isSecret: false,
      reason: 'The globs of .agent-policy.yaml take too long to compare with the path.',
    })
  })

  it.each(['allow', 'deny'])('to compare with a path denies the path (%s)', async (list) => {
    const slow = Array.from({ length: 60 }, (_, at) => `    - "*${'a'.repeat(900)}?${at}"\n`).join('')
    const { policy } = await createFixture({ [name]: `writes:\n  ${list}:\n${slow}` })
    expect(await policy.mayWrite('a'.repeat(4000))).toEqual({
      isAllowed: false,
      reason: 'The globs of .agent-policy.yaml take too long to compare with the path.',
    })
  })

  it('to find, because the path is in hundreds of folders, denies', async () => {
    const { policy } = await createFixture({ [name]: 'writes: { allow: ["**"] }' })
    expect(await policy.mayWrite(`${'a/'.repeat(100)}b`)).toMatchObject({ isAllowed: true })
    expect(await policy.mayWrite(`${'a/'.repeat(101)}b`)).toMatchObject({ isAllowed: false })
  })
})

/** Returns the decision about reading a path under these policies. */
async function mayRead(policies: Readonly<Record<string, string>>, path: string) {
  const { policy } = await createFixture(policies)
  return (await policy.readRules()).decide(path)
}

describe('reads', () => {
  it('are allowed without a policy, but for secrets', async () => {
    expect(await mayRead({}, 'src/a.ts')).toMatchObject({ isAllowed: true })
    expect(await mayRead({}, 'src/.env')).toEqual({
      isAllowed: false,
      isSecret: true,
      reason:
        '"src/.env" looks like a secret: it matches ".env*" (settings with passwords and tokens). ' +
        'To let tools read it, add its exact path to reads.allow in .agent-policy.yaml of the workspace.',
    })
  })

  it.each([
    [
      'a denied folder',
      { [name]: 'reads: { deny: [private] }' },
      'private/a.ts',
      '.agent-policy.yaml:1 denies reading "private".',
    ],
    [
      'another case',
      { [name]: 'reads: { deny: [private] }' },
      'src/PRIVATE/a.ts',
      '.agent-policy.yaml:1 denies reading "private".',
    ],
    [
      'a named file',
      { [name]: 'reads: { allow: [.env], deny: [.env] }' },
      '.env',
      '.agent-policy.yaml:1 denies reading ".env".',
    ],
    [
      'an inner policy, although the root has none',
      { [`src/${name}`]: 'reads: { deny: ["*.ts"] }' },
      'src/in/a.ts',
      'src/.agent-policy.yaml:1 denies reading "*.ts".',
    ],
    [
      'an invalid policy that denies reading',
      { [name]: 'reads: { deny: [private] }\nshel: {}\n' },
      'src/a.ts',
      'The workspace can be neither read nor changed, because its policy is invalid. .agent-policy.yaml:2: shel: unknown key',
    ],
  ])('are denied by %s', async (_what, policies, path, reason) => {
    expect(await mayRead(policies, path)).toEqual({
      isAllowed: false,
      isSecret: false,
      reason: expect.stringContaining(reason),
    })
  })

  it.each([
    ['a file beside a denied folder', { [name]: 'reads: { deny: [private] }' }, 'privately/a.ts'],
    ['a secret that the policy names', { [name]: 'reads: { allow: [src/.env] }' }, 'src/.env'],
    ['a secret that the policy names for writing', { [name]: 'writes: { allow: [./src/.env] }' }, 'src/.env'],
    [
      'a secret that the root names, if an inner policy says nothing of secrets',
      { [name]: 'reads: { allow: [src/.env] }', [`src/${name}`]: 'reads: { deny: [x] }' },
      'src/.env',
    ],
    ['the rest, if an invalid policy says nothing of reading', { [name]: '# reads\nshel: {}\n' }, 'src/a.ts'],
    ['an invalid policy itself', { [name]: 'reads: [x]' }, name],
  ])('are allowed of %s', async (_what, policies, path) => {
    expect(await mayRead(policies, path)).toMatchObject({ isAllowed: true })
  })

  it.each([
    ['names another file', { [name]: 'reads: { allow: [.env] }' }],
    ['has a pattern for writing', { [name]: 'writes: { allow: ["**/.env", ".env*"] }' }],
    ['is an inner one, and the root names none', { [`src/${name}`]: 'reads: { allow: [.env] }' }],
    [
      'is narrowed by an inner one',
      { [name]: 'reads: { allow: [src/.env] }', [`src/${name}`]: 'reads: { allow: [] }' },
    ],
  ])('of a secret are refused if the policy %s', async (_what, policies) => {
    expect(await mayRead(policies, 'src/.env')).toMatchObject({ isAllowed: false, isSecret: true })
  })

  it('cannot be allowed by a pattern', async () => {
    const { policy } = await createFixture({ [name]: 'reads:\n  allow:\n    - "**/.env"\n' })
    const { problem } = await policy.describe()
    expect(problem).toContain('.agent-policy.yaml:3: reads.allow: "**/.env" is not allowed here. Only the exact path')
  })
})
