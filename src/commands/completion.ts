import type { Command, Option } from 'commander'
import { settingKeys } from '../config/find-setting.ts'
import type { ValueKind } from './complete-values.ts'
import { logFormats, logLevels } from '../config/schema.ts'

/** A command, and the words that may follow it. */
interface CommandNode {
  /** The words after the program's name, e.g. `config show`; '' for the program itself. */
  readonly path: string
  readonly commands: readonly { readonly word: string; readonly summary: string }[]
  readonly options: readonly OptionWords[]
  /** By position; empty if any word is valid. */
  readonly argumentChoices: readonly Choices[]
}

/** The valid words, or the kind of values that the script requests from this program. */
type Choices = readonly string[] | { readonly ask: ValueKind }

interface OptionWords {
  /** `--follow`, and `-f` if it exists. */
  readonly words: readonly string[]
  /** One line of any characters. */
  readonly summary: string
  /** The option's value: one of a list, a file, or any word; undefined for a flag. */
  readonly value: Choices | 'file' | 'anything' | undefined
}

/** Values that commander does not know, by long option: the configuration or a command validates them. */
const knownChoices: Readonly<Record<string, Choices>> = {
  '--model': { ask: 'models' },
  '--key': { ask: 'keys' },
  '--log-level': logLevels,
  '--log-format': logFormats,
}
/** By the path of the command and the name of the argument. */
const knownArguments: Readonly<Record<string, Choices>> = {
  'login provider': ['copilot', 'codex'],
  'logout provider': ['copilot', 'codex'],
  'models name': { ask: 'models' },
  'models enable id': { ask: 'models' },
  'key remove name': { ask: 'keys' },
  'account use name': { ask: 'accounts' },
  'config get key': settingKeys,
  'config set key': settingKeys,
  'config unset key': settingKeys,
}

/*
 * The scripts contain all commands and options, and start the program only for names of models and keys. Those of
 * @bomb.sh/tab 0.0.22 start it at every Tab (0.1 s instead of 2 ms), offer no file names after `--config`, and need the package
 * bash-completion in bash.
 */
const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const
export type Shell = keyof typeof shells

/**
 * The script that completes the visible commands and options of `program`.
 * @param unnamed options that the program accepts without a command
 */
export function completionScript(shell: Shell, program: Command, unnamed: readonly Option[]): string {
  const help = program.createHelp()
  const topics = help.visibleCommands(program).map((topic) => topic.name())
  const walk = (command: Command, path: string): readonly CommandNode[] => {
    const children = help.visibleCommands(command)
    const others =
      command.parent === null ? unnamed.filter(({ hidden }) => !hidden) : help.visibleGlobalOptions(command)
    const node = {
      path,
      commands: children.map((child) => ({ word: child.name(), summary: child.description() })),
      options: [...help.visibleOptions(command), ...others].map(toOptionWords),
      argumentChoices: command.registeredArguments.map(
        (argument) =>
          argument.argChoices ?? knownArguments[`${path} ${argument.name()}`] ?? (path === 'help' ? topics : []),
      ),
    }
    return [node, ...children.flatMap((child) => walk(child, `${path} ${child.name()}`.trimStart()))]
  }
  return shells[shell](walk(program, ''))
}

function toOptionWords({ long, short, description, argChoices, required, optional, flags }: Option): OptionWords {
  const kind = /[<[](file|path)[>\]]/.test(flags) ? 'file' : 'anything'
  return {
    words: [long, short].filter((word) => word !== undefined),
    summary: description,
    value: required || optional ? (argChoices ?? knownChoices[long ?? ''] ?? kind) : undefined,
  }
}

/** Every option that a value follows. */
function valuedWords(nodes: readonly CommandNode[]): readonly string[] {
  const words = nodes.flatMap(({ options }) => options.flatMap((option) => (option.value ? option.words : [])))
  return [...new Set(words)]
}

/**
 * A completion script for bash, including version 3.2 of macOS: it finds the command among the words, then offers its
 * options and arguments. Bash shows no summaries.
 */
function bashCompletion(nodes: readonly CommandNode[]): string {
  const valued = valuedWords(nodes)
  return `# bash completion for copilot-proxy. In ~/.bashrc:
#   source <(copilot-proxy completion bash)
_copilot_proxy() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path="" position=0 at=1 words="" IFS=$' \\t\\n'
  COMPREPLY=()
  if [ "$current" = "=" ]; then
    current=""
  elif [ "$previous" = "=" ]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "\${COMP_WORDS[at]}" in
      --) return 0 ;;
      ${valued.join('|')})
        # Bash takes "--option=value" for three words.
        if [ "\${COMP_WORDS[at+1]}" = "=" ]; then at=$((at + 1)); fi
        at=$((at + 1))
        ;;
      -*) ;;
      *)
        case "$path \${COMP_WORDS[at]}" in
${indent(nodes.filter(({ path }) => path !== '').map(enterCase), 10)}
          *) position=$((position + 1)) ;;
        esac
        ;;
    esac
    at=$((at + 1))
  done
  case "$path $previous" in
${indent(
  nodes.flatMap((node) => node.options.flatMap((option) => valueCase(node, option))),
  4,
)}
  esac
  case "$current" in
    -*)
      case "$path" in
${indent(
  nodes.map((node) =>
    wordsCase(
      pattern(node.path),
      node.options.flatMap(({ words }) => words),
    ),
  ),
  8,
)}
      esac
      ;;
    *)
      case "$path $position" in
${indent(nodes.flatMap(positionCases), 8)}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _copilot_proxy copilot-proxy
`
}

/** The path of a command in a shell pattern: each word with a space before it. */
function pattern(path: string): string {
  return path === '' ? '""' : `" ${path}"`
}

function enterCase({ path }: CommandNode): string {
  return `${pattern(path)}) path="$path \${COMP_WORDS[at]}"; position=0 ;;`
}

function valueCase({ path }: CommandNode, { words, value }: OptionWords): readonly string[] {
  if (value === undefined) return []
  const patterns = words.map((word) => `"${path === '' ? '' : ` ${path}`} ${word}"`).join('|')
  const files = `compopt -o default 2>/dev/null || { IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current")); }; `
  const choices = typeof value === 'string' ? '' : `COMPREPLY=($(compgen -W "${shellWords(value)}" -- "$current")); `
  return [`${patterns}) ${value === 'file' ? files : choices}return 0 ;;`]
}

function positionCases({ path, commands, argumentChoices }: CommandNode): readonly string[] {
  const children = commands.map(({ word }) => word)
  const choices = children.length > 0 ? [children] : argumentChoices
  return choices.flatMap((words, at) =>
    isAny(words) ? [] : [wordsCase(`"${path === '' ? '' : ` ${path}`} ${at}"`, words)],
  )
}

function isAny(choices: Choices): boolean {
  return !('ask' in choices) && choices.length === 0
}

/** Inside double quotes of bash and zsh. */
function shellWords(choices: Choices): string {
  return 'ask' in choices ? `$(${question(choices)})` : choices.join(' ')
}

function question({ ask }: { readonly ask: ValueKind }): string {
  return `copilot-proxy __complete ${ask} 2>/dev/null`
}

function wordsCase(at: string, words: Choices): string {
  return `${at}) words="${shellWords(words)}" ;;`
}

function indent(lines: readonly string[], by: number): string {
  return lines.map((line) => `${' '.repeat(by)}${line}`).join('\n')
}

/**
 * A completion script for zsh (zshcompsys(1)): one function per command, which delegates to that of the subcommand.
 * Works sourced and as a file `_copilot-proxy` in a folder of `fpath`.
 */
function zshCompletion(nodes: readonly CommandNode[]): string {
  return `#compdef copilot-proxy
# zsh completion for copilot-proxy. In ~/.zshrc, after compinit:
#   source <(copilot-proxy completion zsh)
_copilot-proxy-values() {
  local -a values
  values=(\${(f)"$(copilot-proxy __complete $@[-1] 2>/dev/null)"})
  compadd "\${(@)@[1,-2]}" -a values
}

${nodes.map(toFunction).join('\n')}
if [ "$funcstack[1]" = "_copilot-proxy" ]; then
  _copilot-proxy "$@"
else
  compdef _copilot-proxy copilot-proxy
fi
`
}

function functionName(path: string): string {
  return ['_copilot-proxy', ...path.split(' ').filter((word) => word !== '')].join('-')
}

function toFunction({ path, commands, options, argumentChoices }: CommandNode): string {
  const specs = [
    ...options.flatMap(optionSpecs),
    ...argumentChoices.map((choices, at) => `'${at + 1}: :${isAny(choices) ? '' : zshAction(choices)}'`),
  ]
  const lines = specs.map((spec) => `    ${spec} \\\n`).join('')
  if (commands.length === 0) {
    return `${functionName(path)}() {\n  _arguments -s -S \\\n${lines}    && return 0\n}\n`
  }
  const list = commands.map(({ word, summary }) => `        '${zshQuoted(`${word}:${summary}`)}'\n`).join('')
  const cases = commands
    .map(({ word }) => `        ${word}) ${functionName(path === '' ? word : `${path} ${word}`)} ;;\n`)
    .join('')
  return `${functionName(path)}() {
  local curcontext="$curcontext" state line
  local -a commands
  _arguments -C -s \\
${lines}    '1: :->command' \\
    '*:: :->rest' && return 0
  case "$state" in
    command)
      commands=(
${list}      )
      _describe -t commands command commands
      ;;
    rest)
      case "$line[1]" in
${cases}      esac
      ;;
  esac
}
`
}

function optionSpecs({ words, summary, value }: OptionWords): readonly string[] {
  const offered = value === 'file' ? '_files' : value === 'anything' || value === undefined ? '' : zshAction(value)
  const action = value === undefined ? '' : `: :${offered}`
  // Either form excludes the other.
  const exclusion = words.length > 1 ? `(${words.join(' ')})` : ''
  return words.map((word) => {
    const separator = value === undefined ? '' : word.startsWith('--') ? '=' : '+'
    return `'${zshQuoted(`${exclusion}${word}${separator}`)}[${zshQuoted(bracketed(summary))}]${zshQuoted(action)}'`
  })
}

/** `_arguments` calls a function with its own options before the words of the action. */
function zshAction(choices: Choices): string {
  return 'ask' in choices ? `_copilot-proxy-values ${choices.ask}` : `(${choices.map(zshQuoted).join(' ')})`
}

function bracketed(text: string): string {
  return text.replaceAll(/[[\]\\:]/g, String.raw`\$&`)
}

/** Inside single quotes. */
function zshQuoted(text: string): string {
  return text.replaceAll("'", String.raw`'\''`)
}

/**
 * A completion script for fish (complete(1)): a function finds the command among the words, and each line states where
 * it applies.
 */
function fishCompletion(nodes: readonly CommandNode[]): string {
  const valued = valuedWords(nodes)
  const paths = nodes.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]))
  return `# fish completion for copilot-proxy. In ~/.config/fish/config.fish:
#   copilot-proxy completion fish | source
function __copilot_proxy_at
    set -l path
    set -l position 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --
                return 1
            case ${valued.join(' ')}
                set skip 1
            case '-*'
            case '*'
                set -l next (string trim -- "$path $word")
                if contains -- $next ${paths.join(' ')}
                    set path $next
                    set position 0
                else
                    set position (math $position + 1)
                end
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) = 1; or test $position = $argv[2]
    end
end
complete -c copilot-proxy -f
${nodes.flatMap(toLines).join('\n')}
`
}

function toLines({ path, commands, options, argumentChoices }: CommandNode): readonly string[] {
  const at = `complete -c copilot-proxy -n "__copilot_proxy_at '${path}'`
  return [
    ...commands.map(({ word, summary }) => `${at} 0" -a ${word} -d ${fishQuoted(summary)}`),
    ...argumentChoices.flatMap((choices, position) =>
      isAny(choices) ? [] : [`${at} ${position}" -a ${fishQuoted(fishWords(choices))}`],
    ),
    ...options.map((option) => `${at}" ${optionText(option)}`),
  ]
}

function optionText({ words, summary, value }: OptionWords): string {
  const names = words.map((word) => (word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`)).join(' ')
  return `${names}${valueText(value)} -d ${fishQuoted(summary)}`
}

function valueText(value: OptionWords['value']): string {
  if (value === undefined) return ''
  if (value === 'file') return ' -r -F'
  return value === 'anything' ? ' -x' : ` -x -a ${fishQuoted(fishWords(value))}`
}

function fishWords(choices: Choices): string {
  return 'ask' in choices ? `(${question(choices)})` : choices.join(' ')
}

/** In single quotes, where only backslash and quote are special. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
