import { isObject, parseObject } from '../../json/json.ts'
import type { Folder } from '../folder.ts'
import { findProgram, foldersOf, inFolder, readIfThere, type Filter } from '../run-filter.ts'
import { endingOf } from '../symbols/languages.ts'
import { ToolError } from '../tool-error.ts'

/** A program that a workspace may name in its configuration. */
export interface WorkspaceTool {
  readonly name: string
  /** File name extensions in lower case, without the dot. If undefined, the tool accepts all files. */
  readonly endings?: ReadonlySet<string>
  /** A folder with one of these files uses the tool. */
  readonly files: readonly string[]
  /**
   * A folder with one of these files uses the tool if the pattern matches the file's text. This process searches the text, so a
   * pattern must take linear time: `[ \t]*` after `^`, because `\s*` would skip the same line ends at each of them.
   */
  readonly mentions?: Readonly<Record<string, RegExp>>
  /** A folder whose package.json depends on this package uses the tool. */
  readonly npmPackage?: string
  /** Arguments of the program. */
  readonly args: readonly string[]
  readonly takesPath: boolean
  /** The folder in which a workspace installs the program. */
  readonly places: string
  /** Whether a program on PATH may be used too. */
  readonly isOnPath: boolean
}

const endings = (text: string): ReadonlySet<string> => new Set(text.split(' '))
const inNode = { places: 'node_modules/.bin', isOnPath: false } as const
export const inPython = { endings: endings('py pyi'), places: '.venv/bin', isOnPath: true } as const

const prettierFiles = ['json', 'json5', 'yaml', 'yml', 'toml', 'js', 'cjs', 'mjs', 'ts', 'cts', 'mts']

const biomeFiles = ['biome.json', 'biome.jsonc', '.biome.json', '.biome.jsonc'] as const
export const biome = {
  name: 'biome',
  endings: endings('js mjs cjs jsx ts mts cts tsx json jsonc css graphql gql'),
  files: biomeFiles,
  takesPath: true,
  ...inNode,
} as const

export const ruff = {
  name: 'ruff',
  files: ['ruff.toml', '.ruff.toml'],
  mentions: { 'pyproject.toml': /^[ \t]*\[tool\.ruff[.\]]/m },
  takesPath: true,
  ...inPython,
} as const

/** In order of preference, if one folder uses several. */
const formatters: readonly WorkspaceTool[] = [
  { ...biome, args: ['format', '--stdin-file-path'] },
  {
    name: 'prettier',
    files: ['.prettierrc', ...prettierFiles.flatMap((end) => [`.prettierrc.${end}`, `prettier.config.${end}`])],
    npmPackage: 'prettier',
    args: ['--stdin-filepath'],
    takesPath: true,
    ...inNode,
  },
  {
    name: 'black',
    files: [],
    mentions: { 'pyproject.toml': /^[ \t]*\[tool\.black\]/m },
    args: ['--quiet', '-', '--stdin-filename'],
    takesPath: true,
    ...inPython,
  },
  { ...ruff, args: ['format', '-', '--stdin-filename'] },
]

/** Languages with one formatter, which needs no configuration. */
const languageFormatters: ReadonlyMap<string, Filter> = new Map([['go', { words: ['gofmt'], takesPath: false }]])

const ownLanguages = endings('py pyi go rs')

/** @throws ToolError `failed` if the configuration names a formatter that is not installed */
export async function findFormatter(folder: Folder, path: string, signal: AbortSignal): Promise<Filter | undefined> {
  const ending = endingOf(path)
  if (ending === 'rs') return rustfmt(folder, path, signal)
  return languageFormatters.get(ending) ?? findTool(folder, path, formatters, signal)
}

/** Reads the edition from Cargo.toml, because rustfmt assumes edition 2015 by default. */
async function rustfmt(folder: Folder, path: string, signal: AbortSignal): Promise<Filter> {
  let edition = '2021'
  for (const outer of foldersOf(path)) {
    const manifest = await readIfThere(folder, inFolder(outer, 'Cargo.toml'), signal)
    const [, stated] = /^[ \t]*edition[ \t]*=[ \t]*"(\d{4})"/m.exec(manifest ?? '') ?? []
    if (stated === undefined) continue
    edition = stated
    break
  }
  return { words: ['rustfmt', '--emit=stdout', `--edition=${edition}`], takesPath: false }
}

/** Returns the tool of the innermost folder that uses one, and its program. */
export async function findTool(
  folder: Folder,
  path: string,
  tools: readonly WorkspaceTool[],
  signal: AbortSignal,
): Promise<Filter | undefined> {
  const ending = endingOf(path)
  const fitting = tools.filter((tool) => tool.endings?.has(ending) ?? !ownLanguages.has(ending))
  for (const outer of foldersOf(path)) {
    for (const tool of fitting) {
      const config = await namedBy(folder, outer, tool, signal)
      if (config === undefined) continue
      const program = await findProgram(folder, path, tool.name, tool.places, signal)
      if (program === undefined && !tool.isOnPath) {
        const detail = `${config} names ${tool.name}, but ${tool.places}/${tool.name} is missing. Install the packages of the workspace.`
        throw new ToolError({ kind: 'failed', detail })
      }
      return { words: [program ?? tool.name, ...tool.args], takesPath: tool.takesPath }
    }
  }
  return undefined
}

/** Returns the file by which a folder names the tool. */
async function namedBy(
  folder: Folder,
  outer: string,
  { files, mentions = {}, npmPackage }: WorkspaceTool,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const name of files) {
    if ((await readIfThere(folder, inFolder(outer, name), signal)) !== undefined) return inFolder(outer, name)
  }
  for (const [name, pattern] of Object.entries(mentions)) {
    if (pattern.test((await readIfThere(folder, inFolder(outer, name), signal)) ?? '')) return inFolder(outer, name)
  }
  if (npmPackage === undefined) return undefined
  const manifest = inFolder(outer, 'package.json')
  return dependsOn((await readIfThere(folder, manifest, signal)) ?? '', npmPackage) ? manifest : undefined
}

/** The key `prettier` of package.json has prettier's settings, so it names the tool too. */
function dependsOn(manifest: string, npmPackage: string): boolean {
  const content = parseObject(manifest)
  if (content === undefined) return false
  const groups = [content['dependencies'], content['devDependencies']]
  return (
    content[npmPackage] !== undefined || groups.some((group) => isObject(group) && Object.hasOwn(group, npmPackage))
  )
}
