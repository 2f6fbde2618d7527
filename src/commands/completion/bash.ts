import type { CommandNode, OptionWords } from './command-tree.ts'

/**
 * A completion script for bash, including version 3.2 of macOS: it finds the command among the words, then offers its
 * options and arguments. Bash shows no summaries.
 */
export function bashCompletion(nodes: readonly CommandNode[]): string {
  const valued = [
    ...new Set(nodes.flatMap(({ options }) => options.filter(({ value }) => value).flatMap(({ words }) => words))),
  ]
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
  switch (value.kind) {
    case 'choices':
      return [`${patterns}) COMPREPLY=($(compgen -W "${value.choices.join(' ')}" -- "$current")); return 0 ;;`]
    case 'file':
      return [
        `${patterns}) compopt -o default 2>/dev/null || { IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current")); }; return 0 ;;`,
      ]
    case 'anything':
      return [`${patterns}) return 0 ;;`]
  }
}

function positionCases({ path, commands, argumentChoices }: CommandNode): readonly string[] {
  const first = [...commands.map(({ word }) => word), ...(argumentChoices[0] ?? [])]
  return [first, ...argumentChoices.slice(1)].flatMap((words, at) =>
    words.length === 0 ? [] : [wordsCase(`"${path === '' ? '' : ` ${path}`} ${at}"`, words)],
  )
}

function wordsCase(at: string, words: readonly string[]): string {
  return `${at}) words="${words.join(' ')}" ;;`
}

function indent(lines: readonly string[], by: number): string {
  return lines.map((line) => `${' '.repeat(by)}${line}`).join('\n')
}
