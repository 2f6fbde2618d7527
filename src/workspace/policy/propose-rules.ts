import { z } from 'zod'
import { parseObject } from '../../json/json.ts'
import { targetsOf } from '../tasks.ts'

/** A command that a policy could allow. */
export interface Proposal {
  readonly argv: readonly string[]
  /** The file that names it. */
  readonly file: string
  /** The text of that file that runs, on one line; '' if the program itself says what it does. */
  readonly runs: string
}

/** The files that name commands, in the order in which their commands are proposed. */
export const proposingFiles = [
  'package.json',
  'GNUmakefile',
  'makefile',
  'Makefile',
  'pyproject.toml',
  'Cargo.toml',
  'go.mod',
] as const

/** A larger file proposes nothing. Bytes. */
export const maxProposingBytes = 256 * 1024

/** The author of the repository can write a file with any number of scripts. */
const maxProposals = 30

/** Further names of a file are ignored, and so is one that leads to more scripts or targets than this. */
const maxTried = 200

/**
 * Proposes commands that check and build the project, from what its files say. Reads the texts and runs nothing. A script or target
 * whose text deletes, publishes, deploys or fetches is left out.
 * @param texts the texts of `proposingFiles`, by name
 * @param names the names of all files in the folder, among them lock files
 */
export function proposeRules(texts: ReadonlyMap<string, string>, names: ReadonlySet<string>): readonly Proposal[] {
  const makefile = ['GNUmakefile', 'makefile', 'Makefile'].find((name) => texts.has(name))
  return [
    ...ofPackage(texts.get('package.json'), managerOf(names)),
    ...(makefile === undefined ? [] : ofMakefile(texts.get(makefile) ?? '', makefile)),
    ...ofPython(texts.get('pyproject.toml') ?? '', names),
    ...(texts.has('Cargo.toml') ? cargo.map((argv) => ({ argv, file: 'Cargo.toml', runs: '' })) : []),
    ...(texts.has('go.mod') ? go.map((argv) => ({ argv, file: 'go.mod', runs: '' })) : []),
  ].slice(0, maxProposals)
}

const cargo = [
  ['cargo', 'build'],
  ['cargo', 'check'],
  ['cargo', 'test'],
  ['cargo', 'clippy'],
  ['cargo', 'fmt', '--check'],
]

const go = [
  ['go', 'build', './...'],
  ['go', 'test', './...'],
  ['go', 'vet', './...'],
]

/** Begins the name of a script or target that checks or builds, e.g. `test:unit`. */
const harmless = new Set(
  'test tests unit spec lint eslint build compile typecheck type-check types check checks tsc fmt-check format-check'.split(
    ' ',
  ),
)

/** A plain word, which no shell, YAML or Makefile reads as anything else. */
const plain = /^[A-Za-z][\w.:-]{0,59}$/

/**
 * Words of programs and scripts that delete, publish, deploy or fetch, or that run what nobody sees here. A part of a longer word
 * counts too where `_`, `-`, `:` or a capital separates it.
 */
const harmful = new Set(
  (
    'rm rmdir rimraf del delete remove unlink shred clean clear prune reset purge destroy drop wipe erase truncate mkfs dd ' +
    'publish release deploy push upload ship promote rollback migrate seed provision apply terraform kubectl helm aws gcloud az ' +
    'docker podman ssh scp sftp rsync curl wget nc netcat sudo su doas chmod chown kill pkill killall shutdown reboot eval ' +
    'fix write update upgrade install uninstall link commit tag merge rebase stash checkout login logout'
  ).split(' '),
)

/** Says whether a text has a word that a rule should not allow unseen. A text that is hard to read counts as harmful. */
function isHarmful(text: string): boolean {
  if (text.length > maxText || !/^[\t\r\n -~]*$/.test(text) || /`|<\(|base64|\\x/.test(text)) return true
  const words = text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  return words.some((word) => harmful.has(word))
}

/** Characters. */
const maxText = 2000

/** Whether a name says that the script checks or builds, and no part of it says more. */
function isProposed(name: string): boolean {
  const [first = ''] = name.split(':')
  return (
    plain.test(name) &&
    harmless.has(first) &&
    !isHarmful(name) &&
    !/(?:^|[:.-])(?:watch|dev|serve)(?:$|[:.-])/.test(name)
  )
}

const packageFile = z.looseObject({ scripts: z.record(z.string(), z.unknown()).nullish() })

type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun'

const locks: Readonly<Record<string, Manager>> = {
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
}

function managerOf(names: ReadonlySet<string>): Manager {
  return Object.entries(locks).find(([name]) => names.has(name))?.[1] ?? 'npm'
}

function ofPackage(text: string | undefined, manager: Manager): readonly Proposal[] {
  const scripts = packageFile.safeParse(parseObject((text ?? '').replace(/^\uFEFF/, ''))).data?.scripts ?? {}
  const bodyOf = (name: string): string => (typeof scripts[name] === 'string' ? scripts[name] : '')
  const names = Object.keys(scripts)
  return names
    .filter(isProposed)
    .slice(0, maxTried)
    .flatMap((name) => {
      // The package manager runs these three one after the other.
      const bodies = [`pre${name}`, name, `post${name}`].map(bodyOf).filter((body) => body !== '')
      if (bodyOf(name) === '' || callsHarm(bodies, names, bodyOf)) return []
      const proposal = { file: 'package.json', runs: bodies.join(' && ') }
      const run = { ...proposal, argv: [manager, 'run', name] }
      // `bun test` is another command.
      return name === 'test' && manager !== 'bun' ? [{ ...proposal, argv: [manager, 'test'] }, run] : [run]
    })
}

/** Whether a script, or a script of the same file that it names, is harmful. */
function callsHarm(bodies: readonly string[], names: readonly string[], bodyOf: (name: string) => string): boolean {
  const seen = new Set<string>()
  const open = [...bodies]
  for (let body = open.pop(); body !== undefined; body = open.pop()) {
    if (isHarmful(body) || seen.size > maxTried) return true
    // `npm-run-all build:*` runs scripts by a pattern.
    if (body.includes(':*')) open.push(...names)
    for (const name of body.includes(':*') ? names : body.split(/[^\w.:-]+/)) {
      if (seen.has(name)) continue
      seen.add(name)
      open.push(...[`pre${name}`, name, `post${name}`].map(bodyOf).filter((each) => each !== ''))
    }
  }
  return false
}

function ofMakefile(text: string, file: string): readonly Proposal[] {
  const rules = rulesOf(text)
  const variables = variablesOf(text)
  // What another file or a macro defines is not seen here.
  const isWhole = !/^[ \t]*(?:-?include|sinclude|define)\b|\$[({](?:eval|call|shell)\b/m.test(text)
  return targetsOf(text)
    .filter(isProposed)
    .slice(0, maxTried)
    .flatMap((name) => {
      const recipe = recipeOf(name, rules)
      if (recipe === undefined || isHarmful(withVariables(recipe, variables))) return []
      return recipe.includes('$') && !isWhole ? [] : [{ argv: ['make', name], file, runs: oneLine(recipe) }]
    })
}

/** The definitions of each variable. */
function variablesOf(text: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value] = /^(?:export +|override +)*([\w.-]+)\s*[:?+!]*=(.*)$/.exec(line) ?? []
    if (value !== undefined) variables.set(name, `${variables.get(name) ?? ''}\n${value}`)
  }
  return variables
}

function namesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\$[({]?([\w.-]+)/g), ([, name = '']) => name)
}

/** Appends the definitions of the variables of a text, and of those in them. */
function withVariables(text: string, variables: ReadonlyMap<string, string>): string {
  const seen = new Set(namesIn(text))
  for (const name of seen) for (const inner of namesIn(variables.get(name) ?? '')) seen.add(inner)
  return [text, ...seen, ...Array.from(seen, (name) => variables.get(name) ?? '')].join('\n')
}

interface MakeRule {
  readonly needs: readonly string[]
  readonly recipe: readonly string[]
}

function rulesOf(text: string): ReadonlyMap<string, MakeRule> {
  const rules = new Map<string, { readonly needs: string[]; readonly recipe: string[] }>()
  let current: string[][] = []
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('\t')) {
      for (const recipe of current) recipe.push(line.trim())
      continue
    }
    const [, targets, needs = ''] = /^([^:=#\t]+)::?(?![:=])(.*)$/.exec(line) ?? []
    if (targets === undefined) {
      if (line.trim() !== '') current = []
      continue
    }
    const [first = '', ...inline] = needs.split(';')
    current = targets
      .trim()
      .split(/\s+/)
      .map((name) => {
        const rule = rules.get(name) ?? { needs: [], recipe: [] }
        rule.needs.push(...first.trim().split(/\s+/))
        rule.recipe.push(...inline)
        rules.set(name, rule)
        return rule.recipe
      })
  }
  return rules
}

/** Returns what make runs for a target, with what it needs and the targets that its recipe names. Undefined: nothing is known of it. */
function recipeOf(name: string, rules: ReadonlyMap<string, MakeRule>): string | undefined {
  const seen = new Set([name])
  for (const each of seen) {
    if (seen.size > maxTried) return undefined
    const { needs = [], recipe = [] } = rules.get(each) ?? {}
    const words = recipe.join(' ').split(/[^\w.:/-]+/)
    for (const other of [...needs, ...words.filter((word) => rules.has(word))]) if (other !== '') seen.add(other)
  }
  const lines = [...seen].flatMap((each) => rules.get(each)?.recipe ?? [])
  // A target that is needed may be harmful by its name alone.
  return lines.length === 0 ? undefined : [...lines, ...[...seen].slice(1).map((each) => `# ${each}`)].join('\n')
}

function ofPython(text: string, names: ReadonlySet<string>): readonly Proposal[] {
  const tools = new Set(
    text.split(/\r?\n/).flatMap((line) => /^\s*\[+\s*tool\.(pytest|ruff|mypy)\b/.exec(line)?.[1] ?? []),
  )
  const runner = names.has('uv.lock') ? ['uv', 'run'] : names.has('poetry.lock') ? ['poetry', 'run'] : []
  const commands = [
    ...(tools.has('pytest') ? [['pytest']] : []),
    ...(tools.has('ruff') ? [['ruff', 'check']] : []),
    ...(tools.has('mypy') ? [['mypy', '.']] : []),
  ]
  return commands.map((argv) => ({ argv: [...runner, ...argv], file: 'pyproject.toml', runs: '' }))
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
