import { lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Folder } from '../folder.ts'
import { runCommand, type CommandEnd } from '../run-command.ts'
import { findWorktreePlaces } from '../sandbox/git-places.ts'
import { failed, ToolError } from '../tool-error.ts'

/** Reads the repository of a workspace with the user's git. */
export interface Git {
  /** @throws ToolError `failed` if git fails; `cancelled` */
  readonly run: (args: readonly string[]) => Promise<GitOutput>
  /** Whether there is a commit. */
  readonly hasCommits: boolean
}

interface GitOutput {
  readonly text: string
  /** Whether the end of the output is missing. */
  readonly truncated: boolean
}

export interface GitOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** Maximum length of an output. Bytes. */
const maxOutputBytes = 256 * 1024

/** git reads whole files of the folder, such as `.gitignore`. It maps the files of its own history. */
const limits = { dataMb: 480 }

/** A repository may run programs by these settings: filters, drivers of diffs, hooks, monitors of files. None of them runs here. */
const programSettings = '^(filter\\..*\\.(clean|smudge|process|required)|diff\\..*\\.(command|textconv))$'
const fixedSettings: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.quotePath', 'false'],
  ['diff.external', ''],
  ['log.showSignature', 'false'],
  // A folder that looks like a bare repository would be read with its own settings.
  ['safe.bareRepository', 'explicit'],
  ['protocol.allow', 'never'],
]

const notHere = 'This workspace is not the folder of a git repository.'
const elsewhere =
  'Commits of this repository are in another folder (.git/objects has a link or info/alternates), so it is not read. ' +
  'To have them inside, run git repack -ad, and remove .git/objects/info/alternates.'

/**
 * Opens the repository whose working tree is the workspace. Nothing of it runs, nothing is fetched, and nothing is written.
 * @throws ToolError `failed` without git or without such a repository; `cancelled`
 */
export async function openGit(folder: Folder, { signal, timeoutMs }: GitOptions): Promise<Git> {
  const start = (args: readonly string[], settings: readonly (readonly [string, string])[]): Promise<CommandEnd> =>
    runCommand({
      folder,
      argv: ['git', '--no-pager', ...args],
      signal,
      timeoutMs,
      // The start and the end of a longer output are kept, and only the start is used.
      maxOutputBytes: 2 * maxOutputBytes,
      access: 'read',
      limits,
      variables: variablesFor(folder.root, settings),
    })
  if (!(await hasOwnRepository(folder.root))) throw failed(notHere)
  const place = await start(
    ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir'],
    fixedSettings,
  )
  if (place.exitCode !== 0) throw failure(place)
  const [top = '', common = ''] = place.stdout.split('\n')
  const history = await realPath(common)
  if ((await realPath(top)) !== folder.root || !(await isOwnGitFolder(folder.root, history))) throw failed(notHere)
  // In the sandbox, the other folder does not exist.
  const { enclosure } = await folder.sandbox.state()
  if (enclosure.kind === 'none' && !(await hasOwnObjects(history))) throw failed(elsewhere)
  const named = await start(['config', '-z', '--name-only', '--get-regexp', programSettings], fixedSettings)
  const settings = [
    ...fixedSettings,
    ...named.stdout
      .split('\0')
      .filter((name) => name !== '')
      .map((name) => [name, name.endsWith('.required') ? 'false' : ''] as const),
  ]
  const head = await start(['rev-parse', '--verify', '--quiet', 'HEAD'], settings)
  return {
    hasCommits: head.exitCode === 0,
    async run(args) {
      const end = await start(args, settings)
      if (end.timedOut) throw new ToolError({ kind: 'timed_out', afterMs: timeoutMs })
      if (end.exitCode !== 0) throw failure(end)
      if (!end.truncated) return { text: end.stdout, truncated: false }
      return { text: end.stdout.slice(0, end.stdout.search(/\n… \d+ bytes left out …\n/)), truncated: true }
    },
  }
}

function variablesFor(root: string, settings: readonly (readonly [string, string])[]): Record<string, string> {
  return {
    GIT_CEILING_DIRECTORIES: dirname(root),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    // Without these, git would fetch what a partial clone lacks.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** Whether the workspace has a git folder, or is a linked worktree whose repository knows it. */
async function hasOwnRepository(root: string): Promise<boolean> {
  const stats = await lstat(join(root, '.git')).catch(() => undefined)
  if (stats?.isDirectory() === true) return true
  return stats?.isFile() === true && (await findWorktreePlaces(root)).folders.length > 0
}

/** A git folder may state that its commits are elsewhere, which only a linked worktree may do. */
async function isOwnGitFolder(root: string, common: string): Promise<boolean> {
  return common === join(root, '.git') || (await findWorktreePlaces(root)).folders.includes(common)
}

/** Whether all objects are in a git folder: no link, and no list of other folders, leads to those of another repository. */
async function hasOwnObjects(git: string): Promise<boolean> {
  const folders = ['', 'info', 'pack'].map((name) => join(git, 'objects', name))
  const entries = await Promise.all(
    [git, ...folders].map((folder) => readdir(folder, { withFileTypes: true }).catch(() => [])),
  )
  const [top = [], ...inner] = entries
  const isLinked = top.some((entry) => entry.name === 'objects' && entry.isSymbolicLink())
  return !isLinked && !inner.flat().some((entry) => entry.isSymbolicLink() || entry.name === 'alternates')
}

async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => '')
}

function failure({ stderr }: CommandEnd): ToolError {
  const reason = stderr.split('\n').find((line) => line !== '') ?? ''
  return failed(`git failed: ${reason.replace(/^fatal: /, '').slice(0, 300)}`)
}
