import { foldCase } from '../paths.ts'

/**
 * Files that a policy must name exactly. A pattern matches a name, or names that follow each other, anywhere in a path; one `*`
 * stands for any characters of a name. A pattern also protects everything below a folder that it matches, because a path does
 * not show whether it names a file. Compared after `foldCase`.
 */
interface ProtectedFiles {
  /** `secret`: also not read. `obeyed`: other programs execute or obey the file. `state`: of version control or this program. */
  readonly kind: 'state' | 'secret' | 'obeyed'
  readonly reason: string
  /** Documentation of the program that uses the files, where the names do not speak for themselves. */
  readonly source?: string
  readonly patterns: readonly string[]
}

const protectedFiles: readonly ProtectedFiles[] = [
  { kind: 'state', reason: 'git runs its hooks and obeys its config', patterns: ['.git', '.gitmodules'] },
  { kind: 'state', reason: 'other version control runs hooks too', patterns: ['.hg', '.svn', '.jj'] },
  { kind: 'state', reason: 'it holds the rules for tools', patterns: ['.agent-policy.yaml'] },
  { kind: 'state', reason: 'commands run the packages in it', patterns: ['node_modules', '.venv'] },

  { kind: 'secret', reason: 'settings with passwords and tokens', patterns: ['.env*', '*.env'] },
  {
    kind: 'secret',
    reason: 'private keys and stores of keys',
    patterns: ['*.pem', '*.key', '*.p8', '*.p12', '*.pfx', '*.ppk', '*.jks', '*.keystore', '*.kdbx', '*.keytab'],
  },
  {
    kind: 'secret',
    reason: 'private keys of ssh',
    source: 'https://man.openbsd.org/ssh-keygen#FILES',
    patterns: ['.ssh', 'id_rsa*', 'id_dsa*', 'id_ecdsa*', 'id_ed25519*', 'ssh_host_*'],
  },
  { kind: 'secret', reason: 'private keys of GnuPG, and passwords', patterns: ['.gnupg', '.password-store'] },
  {
    kind: 'secret',
    reason: 'passwords and tokens of package registries',
    patterns: [
      '.npmrc',
      '.yarnrc.yml',
      '.pypirc',
      '.cargo/credentials*',
      '.gem/credentials',
      '.composer/auth.json',
      '.m2/settings*.xml',
      '.nuget/NuGet.Config',
    ],
  },
  {
    kind: 'secret',
    reason: 'passwords for hosts',
    patterns: [
      '.netrc',
      '_netrc',
      '.git-credentials',
      '.config/git/credentials',
      '.htpasswd',
      '.pgpass',
      '.my.cnf',
      '.mylogin.cnf',
      '.authinfo*',
    ],
  },
  {
    kind: 'secret',
    reason: 'credentials of AWS',
    source: 'https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html',
    patterns: ['.aws', '.s3cfg', '.boto'],
  },
  {
    kind: 'secret',
    reason: 'credentials of Google Cloud',
    source: 'https://cloud.google.com/docs/authentication/application-default-credentials',
    patterns: [
      'gcloud/credentials.db',
      'gcloud/access_tokens.db',
      'gcloud/legacy_credentials',
      'application_default_credentials.json',
      'client_secret*.json',
      'service-account*.json',
      'serviceAccount*.json',
    ],
  },
  {
    kind: 'secret',
    reason: 'credentials of Azure',
    patterns: ['.azure/accessTokens.json', '.azure/azureProfile.json', '.azure/msal_*', '.azure/service_principal*'],
  },
  {
    kind: 'secret',
    reason: 'credentials of other clouds',
    patterns: [
      'doctl/config.yaml',
      '.fly/config.yml',
      'hcloud/cli.toml',
      '.wrangler/config',
      '.ibmcloud',
      '.bluemix',
      '.aliyun',
      'configstore/firebase-tools.json',
      '.vercel/auth.json',
      'com.vercel.cli/auth.json',
      'netlify/config.json',
      '.railway/config.json',
    ],
  },
  {
    kind: 'secret',
    reason: 'a file that is named for its secrets',
    patterns: [
      'secrets.yml',
      'secrets.yaml',
      'secrets.json',
      'secrets.toml',
      'secrets.env',
      '.secrets*',
      'credentials.json',
      'credentials.yml',
      'credentials.yaml',
      'terraform.tfvars',
      'secret*.tfvars',
    ],
  },
  {
    kind: 'secret',
    reason: 'credentials of container registries and clusters',
    source: 'https://docs.docker.com/reference/cli/docker/login/',
    patterns: [
      '.docker/config.json',
      '.dockercfg',
      'containers/auth.json',
      '.kube/config',
      '.kube/cache',
      'kubeconfig*',
      '*.kubeconfig',
    ],
  },
  {
    kind: 'secret',
    reason: 'credentials of deployment tools; the state of Terraform has passwords in plain text',
    patterns: ['.terraformrc', 'credentials.tfrc.json', '*.tfstate', '*.tfstate.backup', '.vault-token', 'rclone.conf'],
  },
  {
    kind: 'secret',
    reason: 'logins of GitHub and of coding agents',
    patterns: [
      'gh/hosts.yml',
      '.config/hub',
      'github-copilot/apps.json',
      'github-copilot/hosts.json',
      '.codex/auth.json',
      'opencode/auth.json',
      '.claude/.credentials.json',
      '.claude.json',
      '.gemini/oauth_creds.json',
      '.qwen/oauth_creds.json',
      '.copilot/config.json',
      'cursor/auth.json',
    ],
  },
  {
    kind: 'secret',
    reason: 'credentials of cloud services and of data tools',
    patterns: [
      '.oci/config',
      '.pulumi/credentials.json',
      '.config/sops',
      '.snowflake',
      '.databrickscfg',
      '.dbt/profiles.yml',
      '.kaggle/kaggle.json',
      'huggingface/token',
      '.streamlit/secrets.toml',
      '.dev.vars',
      '.sentryclirc',
      'composer/auth.json',
      'NuGet/NuGet.Config',
      '.rclone.conf',
    ],
  },
  { kind: 'secret', reason: 'tokens of copilot-proxy', patterns: ['owner-token*', '.provider-token'] },
  { kind: 'secret', reason: 'commands with passwords in them', patterns: ['.*_history', 'fish_history'] },
  { kind: 'secret', reason: 'passwords of browsers', patterns: ['key4.db', 'logins.json'] },

  {
    kind: 'obeyed',
    reason: 'coding agents run its hooks and servers, and take its permissions',
    source: 'https://docs.claude.com/en/docs/claude-code/settings',
    patterns: [
      '.claude',
      '.mcp.json',
      '.codex',
      '.cursor',
      '.gemini',
      '.qwen',
      '.opencode',
      'opencode.json',
      'opencode.jsonc',
      '.windsurf',
      '.kiro',
      '.amazonq',
      '.continue',
      '.roo',
      '.aider.conf.yml',
      '.copilot',
      '.github/hooks',
      '.github/agents',
      '.github/mcp.json',
      '.github/copilot',
      '.junie',
      '.kilocode',
      '.cline',
      '.clinerules',
      '.crush.json',
      'crush.json',
      '.goose',
      '.openhands',
      '.factory',
      '.trae',
      '.amp',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'editors run its tasks and programs',
    source: 'https://code.visualstudio.com/docs/editing/workspaces/workspace-trust',
    patterns: [
      '.vscode/tasks.json',
      '.vscode/settings.json',
      '.vscode/launch.json',
      '.vscode/mcp.json',
      '.vscode/extensions.json',
      '*.code-workspace',
      '.idea',
      '*.run.xml',
      '.fleet',
      '.zed',
      '.vs/launch.vs.json',
      '.vs/tasks.vs.json',
      '.dir-locals.el',
      '.vimrc',
      '_vimrc',
      '.gvimrc',
      '.nvimrc',
      '.nvim.lua',
      '.exrc',
      '.emacs',
      '.emacs.d',
      '.config/nvim',
      '.config/emacs',
      '.vim',
      '.lazy.lua',
      '.dir-locals-2.el',
      '.helix',
      '.config/helix',
      '.config/zed',
      'Code/User/settings.json',
      'Code/User/tasks.json',
      '*.sublime-project',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'commits and pushes run it',
    source: 'https://git-scm.com/docs/githooks',
    patterns: [
      '.husky',
      '.githooks',
      'lefthook.*',
      'lefthook-local.*',
      '.lefthook*',
      '.huskyrc*',
      '.simple-git-hooks.*',
      'simple-git-hooks.*',
      '.overcommit*',
      '.hgrc',
      'lint-staged.config.*',
      '.pre-commit-config.yaml',
      '.pre-commit-hooks.yaml',
      '.lintstagedrc*',
      '.gitconfig',
      '.config/git',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'a build service runs it, with the secrets of the repository',
    source: 'https://docs.github.com/en/actions/reference/security/secure-use',
    patterns: [
      '.github/workflows',
      '.github/actions',
      '.gitea/workflows',
      '.forgejo/workflows',
      '.gitlab-ci.yml',
      '.circleci',
      '.travis.yml',
      '.drone.yml',
      '.woodpecker*',
      '.buildkite',
      'azure-pipelines.*',
      'bitbucket-pipelines.yml',
      'Jenkinsfile',
      'appveyor.yml',
      '.appveyor.yml',
      '.cirrus.yml',
      'cloudbuild.*',
      'buildspec.yml',
      '.semaphore',
      '.teamcity',
      '.azure-pipelines',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'entering the folder or opening it in a container runs it',
    source: 'https://direnv.net/',
    patterns: [
      '.envrc',
      '.direnv',
      '.mise.*',
      'mise.*',
      '.mise',
      'mise-tasks',
      '.mise-tasks',
      '.config/mise',
      '.replit',
      '.idx',
      '.devcontainer',
      '.devcontainer.json',
      '.gitpod.yml',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'package managers run programs that it names',
    source: 'https://yarnpkg.com/configuration/yarnrc#yarnPath',
    patterns: ['.npmrc', '.yarnrc*', '.yarn', '.pnpmfile.*', '.cargo/config*', '.pip', 'pip.conf', '.bundle'],
  },
  {
    kind: 'obeyed',
    reason: 'shells and logins run it',
    source: 'https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html',
    patterns: [
      '.bashrc',
      '.bash_profile',
      '.bash_login',
      '.bash_logout',
      '.bash_aliases',
      '.profile',
      '.zshrc',
      '.zshenv',
      '.zprofile',
      '.zlogin',
      '.zlogout',
      '.kshrc',
      '.cshrc',
      '.tcshrc',
      '.config/fish',
      '.config/nushell',
      '.config/powershell',
      '.inputrc',
      '.xinitrc',
      '.xprofile',
      '.xsession*',
      '.pam_environment',
      '.config/environment.d',
      '.config/systemd',
      '.config/autostart',
      'LaunchAgents',
      '*.desktop',
      '.local/bin',
      '.ssh',
    ],
  },
  {
    kind: 'obeyed',
    reason: 'interpreters, debuggers, terminals and tools run it, or programs that it names',
    patterns: [
      '.Rprofile',
      '.irbrc',
      '.pryrc',
      '.pythonrc*',
      '.gdbinit',
      '.lldbinit',
      '.tmux.conf',
      '.config/tmux',
      '.psqlrc',
      '.pdbrc',
      'sitecustomize.py',
      'usercustomize.py',
      '*.pth',
      '.ipython',
      '.gradle/init.d',
      '.gradle/init.gradle*',
      '.screenrc',
      '.aws/config',
    ],
  },
]

/** Names like those of secrets, of files that everybody may read and change: examples, and sources. Compared after `foldCase`. */
const ordinaryNames: readonly RegExp[] = [
  /^\.env(?:[._-].*)?[._-](?:example|sample|template|dist|defaults)$/,
  /^(?:.*[._-])?(?:example|sample|template)\.env$/,
  /^\.env[a-z]*\.(?:d\.ts|md)$/,
  /^\.envoy[.-]/,
  /\.schema\.json$/,
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|kubeconfig|client_secret|service-?account).*\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|cs|php|swift|c|h|cc|cpp|md)$/,
]

/** Everybody may read a public key. Who replaces one may get access that was meant for another. */
const publicKey = /\.pub$/

interface Row {
  readonly kind: ProtectedFiles['kind']
  readonly pattern: string
  readonly reason: string
  /** Whether each name in order matches. */
  readonly names: readonly ((name: string) => boolean)[]
}

const rows: readonly Row[] = protectedFiles.flatMap(({ kind, reason, patterns }) =>
  patterns.map((pattern) => ({ kind, pattern, reason, names: foldCase(pattern).split('/').map(matcherOf) })),
)

const secretRows = rows.filter(({ kind }) => kind === 'secret')
const findProtection = createFinder(rows)
const findSecret = createFinder(secretRows)
const findObeyed = createFinder(rows.filter(({ kind }) => kind !== 'secret'))

/** The names of folders in patterns of obeyed files. */
const folderNames = rows.flatMap(({ kind, names }) => (kind === 'secret' ? [] : names.slice(0, -1)))

/** The patterns, for descriptions. */
export const protectedPatterns: readonly string[] = [...new Set(rows.map(({ pattern }) => pattern))]
export const secretPatterns: readonly string[] = secretRows.map(({ pattern }) => pattern)

export type Protection = Pick<Row, 'pattern' | 'reason'>

/** Returns what protects a path from being written, such as `.env*`. */
export function protectionOf(path: string): Protection | undefined {
  const names = namesOf(path)
  return isOrdinary(names) ? (findObeyed(names) ?? findSecret(names.slice(0, -1))) : findProtection(names)
}

/** Returns what makes a path look like a secret, such as `.env*`. */
export function secretOf(path: string): Protection | undefined {
  const names = namesOf(path)
  // A folder of secrets makes each file in it a secret, whatever its name.
  const isPublic = isOrdinary(names) || publicKey.test(names.at(-1) ?? '')
  return findSecret(isPublic ? names.slice(0, -1) : names)
}

function isOrdinary(names: readonly string[]): boolean {
  return ordinaryNames.some((shape) => shape.test(names.at(-1) ?? ''))
}

/** Returns what makes a path one that other programs execute or obey, or a part of version control. It may be a secret too. */
export function obeyedOf(path: string): Protection | undefined {
  return findObeyed(namesOf(path))
}

/** Whether a folder of this name may hold an obeyed file: `.vscode` holds `.vscode/tasks.json`. */
export function mayHoldObeyed(name: string): boolean {
  return folderNames.some((matches) => matches(foldCase(name)))
}

function namesOf(path: string): readonly string[] {
  return path.split('/').map(foldCase)
}

/** Finds the rows that begin with an exact name by that name, because most rows do. */
function createFinder(among: readonly Row[]): (names: readonly string[]) => Row | undefined {
  const firstName = ({ pattern }: Row): string => foldCase(pattern).split('/', 1)[0] ?? ''
  const exact = Map.groupBy(
    among.filter((row) => !firstName(row).includes('*')),
    firstName,
  )
  const others = among.filter((row) => firstName(row).includes('*'))
  return (names) => {
    for (const [at, name] of names.entries()) {
      const isFound = (row: Row): boolean => row.names.every((matches, index) => matches(names[at + index] ?? ''))
      const found = exact.get(name)?.find(isFound) ?? others.find(isFound)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function matcherOf(pattern: string): (name: string) => boolean {
  const [start = '', end] = pattern.split('*')
  if (end === undefined) return (name) => name === start
  return (name) => name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end)
}
