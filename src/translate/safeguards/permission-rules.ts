import { isFilled } from '../../json/json.ts'
import type { AnswerCall, ClassifierContext, PermissionRule } from './call-check.ts'
import { matchesGlob, matchesWildcards, spend, type MatchBudget } from './wildcards.ts'

// The user's permission rules, as `Bash(curl:*)`. A deny or ask rule that covers a call flags it whatever the classifier says.
// Rules that are not understood are left to the classifier, which reads them all.
// Source: Claude Code documentation, permissions, 2026-11.

/** A rule that covers a call. */
export interface CoveringRule {
  readonly list: 'deny' | 'ask'
  /** Position in its list. */
  readonly at: number
  readonly rule: string
}

/** A call as rules read it. */
interface ReadCall extends Pick<AnswerCall, 'name' | 'input'> {
  /** Undefined: it runs no command. */
  readonly commands: readonly string[] | undefined
}

/** The deny rule, else the ask rule, that covers a call. @throws TooManySteps */
export function coveringRule(
  { name, input }: Pick<AnswerCall, 'name' | 'input'>,
  context: ClassifierContext,
  budget: MatchBudget,
): CoveringRule | undefined {
  const command = input?.['command']
  const call = { name, input, commands: isFilled(command) ? commandsIn(command) : undefined }
  for (const list of ['deny', 'ask'] as const) {
    const rules = context.rules?.[list] ?? []
    const at = rules.findIndex((rule) => covers(rule, call, context, budget))
    const found = rules[at]
    if (found !== undefined) return { list, at, rule: found.rule }
  }
  return undefined
}

/** Tools that a rule for another tool also covers. */
const alsoCovered: ReadonlyMap<string, readonly string[]> = new Map([
  ['Edit', ['Write', 'MultiEdit', 'NotebookEdit']],
  ['Read', ['Grep', 'Glob']],
])

const ruleForm = /^(?<tool>[^()]+?)(?:\((?<scope>.*)\))?$/s

function covers(
  rule: PermissionRule,
  { name, input = {}, commands }: ReadCall,
  context: ClassifierContext,
  budget: MatchBudget,
) {
  const { tool, scope } = ruleForm.exec(rule.rule.trim())?.groups ?? {}
  if (tool === undefined || !coversTool(tool, name)) return false
  if (scope === undefined || scope === '' || scope === '*') return true
  if (commands !== undefined) return commands.some((command) => coversCommand(scope, command, budget))
  const host = /^domain:(.+)$/.exec(scope)?.[1]
  if (host !== undefined) return isFilled(input['url']) && isHost(input['url'], host, budget)
  const paths = [input['file_path'], input['notebook_path'], input['path']].filter(isFilled)
  return paths.some((path) => coversPath(scope, path, rule, context, budget))
}

function coversTool(tool: string, name: string): boolean {
  if (tool === name || alsoCovered.get(tool)?.includes(name) === true) return true
  // `mcp__docs` and `mcp__docs__*` cover all tools of the server.
  const isServer = tool.startsWith('mcp__') && (tool.endsWith('__*') || tool.split('__').length === 2)
  return isServer && name.startsWith(`${tool.replace(/__\*$/, '')}__`)
}

/** Words before a command that run it: `FOO=1 sudo curl …`. */
const runners =
  /^(?:[A-Za-z_]\w*=\S*|!|do|then|else|if|elif|while|until|sudo|command|nohup|time|nice|exec|env|timeout\s+\S+|xargs)\s+/

/** The commands of a shell text, each with and without the words that run it. Text in quotes is no command, except substitutions. */
function commandsIn(text: string): readonly string[] {
  const commands: string[] = []
  let command = ''
  let quote = ''
  const end = (): void => {
    let rest = command.trim().replaceAll(/\s+/g, ' ')
    commands.push(rest)
    while (runners.test(rest)) {
      rest = rest.replace(runners, '')
      commands.push(rest)
    }
    command = ''
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? ''
    if (character === '\\' && quote !== "'") {
      command += text.slice(at, at + 2)
      at += 1
    } else if (quote !== "'" && (character === '`' || text.startsWith('$(', at))) {
      end()
      // The text after a substitution is read as a command of its own, which is stricter than the shell.
      quote = ''
      if (character === '$') at += 1
    } else if (quote !== '') {
      if (character === quote) quote = ''
      command += character
    } else if (character === '"' || character === "'") {
      quote = character
      command += character
    } else if (/[;&|\n(){}]/.test(character)) end()
    else command += character
  }
  end()
  return commands.filter((each) => each !== '')
}

/** `npm run test:*` is a prefix, `git * main` has wildcards, anything else is the whole command. */
function coversCommand(scope: string, command: string, budget: MatchBudget): boolean {
  if (!scope.endsWith(':*')) return matchesWildcards(scope, command, budget)
  spend(budget, 1)
  const prefix = scope.slice(0, -2)
  return command === prefix || (command.startsWith(prefix) && /^[\s;]/.test(command.slice(prefix.length)))
}

function isHost(url: string, wanted: string, budget: MatchBudget): boolean {
  if (!URL.canParse(url)) return false
  const { hostname } = new URL(url)
  return matchesWildcards(wanted.toLowerCase(), hostname, budget)
}

/** A glob of `.gitignore`: `//` begins at the root, `~/` in the home folder, `/` at the root of the settings. */
function coversPath(
  scope: string,
  path: string,
  { source }: PermissionRule,
  context: ClassifierContext,
  budget: MatchBudget,
): boolean {
  const cwd = context.live_cwd ?? ''
  const home = context.home_dir ?? ''
  const fold = (text: string): string => (context.case_insensitive_paths === true ? text.toLowerCase() : text)
  const absolute = fold(
    normalised(path.startsWith('~/') ? home + path.slice(1) : isAbsolute(path) ? path : `${cwd}/${path}`),
  )
  const glob = scope.replace(/^\.\//, '')
  const within = (folder: string, inner: string): boolean => {
    const root = `${fold(normalised(folder))}/`
    const form = fold(inner.replace(/\/(?:\*\*)?$/, ''))
    return absolute.startsWith(root) && matchesGlob(form, absolute.slice(root.length), budget)
  }
  if (glob.startsWith('//')) return within('', glob.slice(2))
  if (glob.startsWith('~/')) return within(home, glob.slice(2))
  const root = context.rule_roots?.[source ?? '']
  if (glob.startsWith('/')) return within(isFilled(root) ? root : cwd, glob.slice(1))
  return within(cwd, glob) || (!glob.slice(0, -1).includes('/') && within('', `**/${glob}`))
}

function isAbsolute(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)
}

/** Without `.`, `..`, doubled and final slashes. */
function normalised(path: string): string {
  const names: string[] = []
  for (const name of path.replaceAll('\\', '/').split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names.length === 0 ? '' : `/${names.join('/')}`
}
