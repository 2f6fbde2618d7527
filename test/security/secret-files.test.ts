import { link, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { some } from '../thorough.ts'
import { listAll, openRpc, openStdio, patchesOf } from './tool-ways.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

// The program as real processes. Callers without a person may not read secrets, or write files that other programs obey.

const canary = 'canary_secret_Hw5Tc8Jm3Pq1'

const secrets = [
  '.env',
  '.env.local',
  '.env.js',
  '.envs/.production/README.md',
  '.gnupg/trusted.pub',
  'keys/id_rsa_work',
  'keys/id_ed25519.bak',
  'sub/.ENV.Production',
  'prod.env',
  'tls/server.pem',
  'tls/server.key',
  '.ssh/id_ed25519',
  '.ssh/work',
  'etc/ssh_host_rsa_key',
  '.aws/config',
  '.config/doctl/config.yaml',
  '.fly/config.yml',
  '.kube/cache/token',
  '.azure/msal_token_cache.json',
  'app/secrets.yml',
  'infra/terraform.tfvars',
  '.qwen/oauth_creds.json',
  '.aws/credentials',
  '.docker/config.json',
  '.kube/config',
  '.config/gh/hosts.yml',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.claude.json',
  'infra/terraform.tfstate',
  '.bash_history',
  'denied/notes.txt',
  'inner/hidden/notes.txt',
]

const obeyed = [
  '.claude/settings.json',
  '.claude/hooks/format.sh',
  '.codex/config.toml',
  '.cursor/mcp.json',
  '.gemini/settings.json',
  '.mcp.json',
  'opencode.json',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  '.vscode/launch.json',
  'sub/.VSCode/Tasks.json',
  'app.code-workspace',
  '.idea/workspace.xml',
  '.husky/pre-commit',
  'lefthook.yml',
  'lefthook.toml',
  '.overcommit/pre_commit.rb',
  'mise.local.toml',
  'mise-tasks/build',
  '.pnpmfile.mjs',
  'lib/usercustomize.py',
  'lib/x.pth',
  '.github/copilot/settings.json',
  'azure-pipelines.yaml',
  '.pre-commit-config.yaml',
  '.github/workflows/ci.yml',
  '.github/actions/x/action.yml',
  '.gitlab-ci.yml',
  '.circleci/config.yml',
  'Jenkinsfile',
  '.envrc',
  '.devcontainer/devcontainer.json',
  '.bashrc',
  'home/.zshrc',
  '.profile',
  '.gitconfig',
  '.npmrc',
  '.yarnrc.yml',
  '.yarn/releases/yarn.cjs',
  '.pnpmfile.cjs',
  '.cargo/config.toml',
  '.ssh/authorized_keys',
  '.config/systemd/user/x.service',
  '.config/autostart/x.desktop',
  'Library/LaunchAgents/x.plist',
  '.vimrc',
  '.gdbinit',
  '.venv/bin/black',
]

/** Files with names like those of the others. */
const ordinary = [
  'app.txt',
  '.env.example',
  'sub/.env.sample',
  '.env.production.template',
  'example.env',
  'keys/id_rsa.pub',
  'src/id_rsa_parser.ts',
  'pkg/kubeconfig_test.go',
  'src/.env.d.ts',
  '.envoy.yaml',
  'docs/.environment.md',
  'hub/config/settings.ts',
  '.azure/pipelines.yml',
  '.kube/deploy.yaml',
  'schemas/service-account.schema.json',
  'src/env.ts',
  'src/keys.ts',
  'package.json',
  'Makefile',
  'AGENTS.md',
  'CLAUDE.md',
  '.vscode/snippets.code-snippets',
  '.github/dependabot.yml',
  'claude/settings.json',
  'inner/seen/notes.txt',
]

function contents(paths: readonly string[], text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(paths.map((path) => [path, text]))
}

async function makePlace(policy: string) {
  const root = await makeFolder({
    ...contents(obeyed, 'obeyed\n'),
    ...contents(secrets, `${canary}\n`),
    ...contents(ordinary, 'ordinary\n'),
    '.agent-policy.yaml': policy,
    'inner/.agent-policy.yaml': 'reads: { deny: [hidden] }\n',
  })
  await symlink('.env', join(root, 'link.txt'))
  await symlink('tls', join(root, 'folder'))
  await link(join(root, 'app.txt'), join(root, 'hard.txt'))
  const { PATH = '' } = process.env
  const ownHome = await makeFolder({ 'config.yaml': `workspaces: [${root}]\nworkspace: { read-only: false }\n` })
  const confirm = (): Promise<void> => confirmPolicies(join(ownHome, 'workspaces'), root)
  await confirm()
  return { root, confirm, env: { COPILOT_PROXY_HOME: ownHome, HOME: await makeFolder(), PATH } }
}

const denials = 'reads: { deny: [denied] }\n'
const everything = `${denials}writes: { allow: ['**', '**/*', '.*', '.env*'] }\n`

const ways = [
  ['/rpc', openRpc],
  ['copilot-proxy mcp', openStdio],
] as const

describe.each(some(ways, 2))('over %s', (_way, open) => {
  test('no tool shows a secret, whatever names it', { timeout: 300_000 }, async () => {
    const place = await makePlace(everything)
    const { call, close } = await open(place)
    onTestFinished(close)
    const shown: string[] = []
    const paths = [...secrets, './sub/../.env', 'link.txt', 'folder/server.pem', join(place.root, '.env')]
    const asked = some(paths, 3).flatMap((path) => {
      const diffs = Object.values(patchesOf(path, canary))
      const tools = ['fs.read', 'symbols.list', 'format.apply', 'imports.organize']
      return [
        tools.map((tool) => [tool, { path }] as const),
        diffs.map((unifiedDiff) => ['edit.applyPatch', { unifiedDiff }] as const),
        diffs.map((unifiedDiff) => ['edit.applyPatch', { unifiedDiff, dryRun: true }] as const),
        [['search.code', { query: 'canary', glob: path }] as const],
      ].flat()
    })
    for (const [tool, args] of asked) {
      const { isRefused, text } = await call(tool, args)
      const isEmpty = text.includes('"hits":[],"truncated":false')
      const isLeak = text.includes(canary) && !JSON.stringify(args).includes(canary)
      if ((!isRefused && !isEmpty) || isLeak) shown.push(`${tool} ${JSON.stringify(args)}: ${text.slice(0, 200)}`)
    }
    expect(shown).toEqual([])
    // Whether a search was cut must not tell what a secret contains.
    for (const args of [
      { query: canary },
      { query: 'canary', maxResults: 1 },
      { query: '^canary_secret_H', regex: true },
    ]) {
      expect((await call('search.code', args)).text).toMatch(/"hits":\[\],"truncated":false/)
    }
    for (const path of secrets) expect(await readFile(join(place.root, path), 'utf8')).toBe(`${canary}\n`)

    const listed = await listAll(call)
    expect(listed).toContain('"tls/server.pem"')
    for (const path of ['denied/notes.txt', 'inner/hidden/notes.txt']) expect(listed).not.toContain(path)
    expect((await call('fs.read', { path: 'tls/server.pem' })).text).toContain(
      'add its exact path to reads.allow in .agent-policy.yaml',
    )
  })

  test('files with names like those of secrets are read, searched and listed', { timeout: 120_000 }, async () => {
    const place = await makePlace(everything)
    const { call, close } = await open(place)
    onTestFinished(close)
    const listed = await listAll(call)
    const found = (await call('search.code', { query: 'ordinary' })).text
    for (const path of [...ordinary, 'hard.txt']) {
      expect((await call('fs.read', { path })).text, path).toContain('ordinary')
      expect(listed).toContain(`"${path}"`)
      expect(found).toContain(`"file":"${path}"`)
    }
  })

  test('no tool writes a file that other programs obey, unless the policy names it', { timeout: 300_000 }, async () => {
    const place = await makePlace(everything)
    const { call, close } = await open(place)
    onTestFinished(close)
    const written: string[] = []
    for (const path of obeyed) {
      const patches = Object.entries(patchesOf(path, 'obeyed'))
      for (const [what, unifiedDiff] of [
        ...patches,
        ['create beside', patchesOf(`${path}.new/x`, '').create],
      ] as const) {
        if (what === 'create beside' && !/^\.(?:claude|husky|github|idea)/.test(path)) continue
        const { isRefused } = await call('edit.applyPatch', { unifiedDiff })
        if (!isRefused) written.push(`${what} ${path}`)
      }
    }
    expect(written).toEqual([])
    const names = obeyed.filter((path) => !secrets.includes(path))
    for (const path of names) {
      expect(await readFile(join(place.root, path), 'utf8'), path).toBe('obeyed\n')
      expect((await stat(join(place.root, path))).mode & 0o111, path).toBe(0)
    }
    for (const path of [
      'package.json',
      'Makefile',
      'AGENTS.md',
      '.github/dependabot.yml',
      '.vscode/snippets.code-snippets',
      '.env.example',
      'src/id_rsa_parser.ts',
    ]) {
      const unifiedDiff = patchesOf(path, 'ordinary').change
      expect(await call('edit.applyPatch', { unifiedDiff }), path).toMatchObject({ isRefused: false })
    }
  })

  test('the policy opens exactly the files that it names', { timeout: 120_000 }, async () => {
    const named =
      'reads: { allow: [.env.local, tls/server.pem], deny: [tls/server.key] }\n' +
      "writes: { allow: ['**', .claude/settings.json, .github/workflows/ci.yml, prod.env] }\n"
    const place = await makePlace(named)
    const { call, close } = await open(place)
    onTestFinished(close)
    for (const path of ['.env.local', 'tls/server.pem', 'folder/server.pem', 'prod.env']) {
      const { text } = await call('fs.read', { path })
      if (path.startsWith('folder')) expect(text).toContain('looks like a secret')
      else expect(text).toContain(canary)
    }
    for (const path of ['.env', 'sub/.env.local', 'tls/server.key']) {
      expect(await call('fs.read', { path }), path).toMatchObject({ isRefused: true })
    }
    expect((await call('search.code', { query: canary })).text.match(/"file":"[^"]+"/g)?.toSorted()).toEqual(
      expect.arrayContaining(['"file":".env.local"', '"file":"prod.env"', '"file":"tls/server.pem"']),
    )
    for (const path of ['.claude/settings.json', '.github/workflows/ci.yml']) {
      const unifiedDiff = patchesOf(path, 'obeyed').change
      expect(await call('edit.applyPatch', { unifiedDiff }), path).toMatchObject({ isRefused: false })
    }
    const { text } = await call('policy.get', {})
    expect(text).toContain('"reads":{"allow":[".env.local","tls/server.pem"],"deny":["tls/server.key"]')

    // An undo is a write too.
    await writeFile(join(place.root, '.agent-policy.yaml'), everything)
    await place.confirm()
    expect(await call('edit.undo', {})).toMatchObject({ isRefused: true })
    expect(await readFile(join(place.root, '.github/workflows/ci.yml'), 'utf8')).toBe('mine\n')
  })
})
