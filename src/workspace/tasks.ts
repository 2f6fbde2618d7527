import { posix } from 'node:path'
import { z } from 'zod'
import { parseObject } from '../json/json.ts'
import { readJsonc } from '../json/jsonc.ts'
import { errnoOf } from '../auth/records/record-fs.ts'
import { splitCommand } from './command-line.ts'
import type { Folder } from './folder.ts'
import { failed, quote, ToolError } from './tool-error.ts'

export interface Task {
  /** The command that the policy checks. */
  readonly argv: readonly string[]
  /** Working folder, relative to the root; '' for the root. */
  readonly cwd: string
  /** The file that defines the task. */
  readonly file: string
}

/** A package.json may hold much besides scripts. This size takes some ten milliseconds, even if it is malicious. Bytes. */
const maxPackageBytes = 1024 * 1024

/** Much larger than usual. Bytes. */
const maxMakefileBytes = 256 * 1024

/** Much larger than usual. JSON with comments takes several times as long as JSON. Bytes. */
const maxEditorBytes = 128 * 1024

/** Further entries of a file are ignored. */
const maxEditorTasks = 1000

/** Maximum number of names in a message. */
const maxListed = 20

const packageFile = z.looseObject({ scripts: z.record(z.string(), z.unknown()).nullish() })

/** An entry of `.vscode/tasks.json`, version 2.0.0. Source: code.visualstudio.com/docs/debugtest/tasks-appendix, 2026-11. */
const editorTask = z.looseObject({
  label: z.string().nullish(),
  /** The older name of `label`. */
  taskName: z.string().nullish(),
  type: z.string().nullish(),
  command: z.string().nullish(),
  args: z.array(z.unknown()).nullish(),
  script: z.string().nullish(),
  path: z.string().nullish(),
  dependsOn: z.unknown().optional(),
  options: z
    .looseObject({ cwd: z.string().nullish(), env: z.unknown().optional(), shell: z.unknown().optional() })
    .nullish(),
})
type EditorTask = z.infer<typeof editorTask>

const editorTasks = z.looseObject({ tasks: z.array(z.unknown()).nullish() })

interface Source {
  readonly file: string
  readonly names: readonly string[]
  readonly task: (name: string, args: readonly string[]) => Omit<Task, 'file'>
}

/**
 * Returns the command of the first task with this name: an npm script, a make target or an entry of `.vscode/tasks.json`.
 * @throws ToolError `failed` for a task that is missing or that needs an editor or a shell; `denied` for a command that
 * `splitCommand` refuses
 */
export async function findTask(folder: Folder, name: string, args: readonly string[] = []): Promise<Task> {
  const sources = [await npmScripts(folder), await makeTargets(folder), await editorEntries(folder)].filter(
    (source) => source !== undefined,
  )
  const found = sources.find(({ names }) => names.includes(name))
  if (found !== undefined) return { ...found.task(name, args), file: found.file }
  throw failed(`There is no task ${quote(name)}. ${available(sources)}`)
}

function available(sources: readonly Source[]): string {
  const names = [...new Set(sources.flatMap((source) => source.names))]
  if (names.length === 0) return 'The workspace has no npm scripts, make targets or .vscode/tasks.json.'
  const more = names.length > maxListed ? `, and ${names.length - maxListed} more` : ''
  return `Tasks: ${names.slice(0, maxListed).map(quote).join(', ')}${more}.`
}

async function npmScripts(folder: Folder): Promise<Source | undefined> {
  const file = 'package.json'
  const text = await readOptional(folder, file, maxPackageBytes)
  if (text === undefined) return undefined
  const { scripts } = check(file, packageFile.safeParse(parseObject(text.replace(/^\uFEFF/, ''))))
  return {
    file,
    names: Object.keys(scripts ?? {}),
    task: (name, args) => ({ argv: npmCommand(name, args), cwd: '' }),
  }
}

function npmCommand(script: string, args: readonly string[]): readonly string[] {
  return ['npm', 'run', script, ...(args.length === 0 ? [] : ['--', ...args])]
}

/** In the order in which GNU make searches them. */
const makefiles = ['GNUmakefile', 'makefile', 'Makefile']

async function makeTargets(folder: Folder): Promise<Source | undefined> {
  for (const file of makefiles) {
    const text = await readOptional(folder, file, maxMakefileBytes)
    if (text === undefined) continue
    return { file, names: targetsOf(text), task: (name, args) => ({ argv: ['make', name, ...args], cwd: '' }) }
  }
  return undefined
}

/** Returns the explicit targets of rules, without variables, patterns, and special targets such as `.PHONY`. */
export function targetsOf(makefile: string): readonly string[] {
  const rules = makefile.split(/\r?\n/).flatMap((line) => /^([a-z0-9_][^:=#$%\t]*)::?(?![:=])/i.exec(line)?.[1] ?? [])
  return [...new Set(rules.flatMap((targets) => targets.trim().split(/ +/)))]
}

async function editorEntries(folder: Folder): Promise<Source | undefined> {
  const file = '.vscode/tasks.json'
  const text = await readOptional(folder, file, maxEditorBytes)
  if (text === undefined) return undefined
  const listed = check(file, editorTasks.safeParse(readJsonc(text))).tasks ?? []
  const tasks = check(file, z.array(editorTask).safeParse(listed.slice(0, maxEditorTasks)))
  return {
    file,
    names: tasks.flatMap((task) => nameOf(task) ?? []),
    task: (name, args) => {
      const task = tasks.find((each) => nameOf(each) === name)
      if (task === undefined) throw failed(`There is no task ${quote(name)}.`)
      return editorCommand(folder, name, task, args)
    },
  }
}

function nameOf({ label, taskName, type, script }: EditorTask): string | undefined {
  return label ?? taskName ?? (type === 'npm' && typeof script === 'string' ? `npm: ${script}` : undefined)
}

function editorCommand(folder: Folder, name: string, task: EditorTask, args: readonly string[]): Omit<Task, 'file'> {
  const refuse = (reason: string): ToolError => failed(`The task ${quote(name)} ${reason}`)
  if (task.dependsOn !== undefined) throw refuse('depends on other tasks. Run those one by one.')
  if (task.options?.env !== undefined) throw refuse('sets variables. Commands get a fixed environment.')
  if (task.options?.shell !== undefined) throw refuse('names a shell. Commands run without one.')
  const cwd = folder.relativePath(withoutRoot(task.options?.cwd ?? ''))
  if (task.type === 'npm' && typeof task.script === 'string') {
    return { argv: npmCommand(task.script, args), cwd: folder.relativePath(posix.join(cwd, task.path ?? '')) }
  }
  const isShell = task.type === 'shell'
  if (!isShell && task.type !== 'process') throw refuse('is of a type that needs an editor.')
  if (typeof task.command !== 'string' || task.command === '') throw refuse('has no command.')
  const own = (task.args ?? []).map((arg) => {
    if (typeof arg !== 'string') throw refuse('has an argument with quoting rules for a shell.')
    if (!isShell) return arg
    // An editor quotes an argument with spaces. Each other argument must be one unquoted word.
    const [word, ...more] = arg.includes(' ') ? splitCommand(`'${arg.replaceAll("'", '"')}'`) : splitCommand(arg)
    if (word !== arg || more.length > 0) throw refuse(`has the argument ${quote(arg)}, which only a shell understands.`)
    return arg
  })
  const argv = [...(isShell ? splitCommand(task.command) : [task.command]), ...own, ...args]
  const variable = argv.find((word) => word.includes('${'))
  if (variable !== undefined) throw refuse(`has ${quote(variable)}, which only an editor can fill in.`)
  return { argv, cwd }
}

function withoutRoot(path: string): string {
  return path.replace(/^\$\{workspaceFolder\}\/?/, '')
}

/** Returns undefined for a missing file. */
async function readOptional(folder: Folder, path: string, maxBytes: number): Promise<string | undefined> {
  try {
    return (await folder.readFile(path, { maxBytes })).bytes.toString('utf8')
  } catch (error) {
    if (error instanceof ToolError && errnoOf(error.cause) === 'ENOENT') return undefined
    throw error
  }
}

function check<Output>(file: string, parsed: z.ZodSafeParseResult<Output>): Output {
  if (parsed.success) return parsed.data
  throw failed(`${quote(file)} is invalid, so its tasks are unknown. Repair the file.`)
}
