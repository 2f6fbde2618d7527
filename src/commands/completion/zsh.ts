import type { CommandNode, OptionWords } from './command-tree.ts'

/**
 * A completion script for zsh (zshcompsys(1)): one function per command, which delegates to that of the subcommand.
 * Works sourced and as a file `_copilot-proxy` in a folder of `fpath`.
 */
export function zshCompletion(nodes: readonly CommandNode[]): string {
  return `#compdef copilot-proxy
# zsh completion for copilot-proxy. In ~/.zshrc, after compinit:
#   source <(copilot-proxy completion zsh)
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
    ...argumentChoices.map((choices, at) =>
      choices.length === 0 ? `'${at + 1}: :'` : `'${at + 1}: :(${choices.map(quoted).join(' ')})'`,
    ),
  ]
  const lines = specs.map((spec) => `    ${spec} \\\n`).join('')
  if (commands.length === 0) {
    return `${functionName(path)}() {\n  _arguments -s -S \\\n${lines}    && return 0\n}\n`
  }
  const list = commands.map(({ word, summary }) => `        '${quoted(`${word}:${summary}`)}'\n`).join('')
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
  const action =
    value === undefined
      ? ''
      : value.kind === 'choices'
        ? `: :(${value.choices.join(' ')})`
        : value.kind === 'file'
          ? ': :_files'
          : ': :'
  // Either form excludes the other.
  const exclusion = words.length > 1 ? `(${words.join(' ')})` : ''
  return words.map((word) => {
    const separator = value === undefined ? '' : word.startsWith('--') ? '=' : '+'
    return `'${quoted(`${exclusion}${word}${separator}`)}[${quoted(bracketed(summary))}]${quoted(action)}'`
  })
}

function bracketed(text: string): string {
  return text.replaceAll(/[[\]\\:]/g, String.raw`\$&`)
}

/** Inside single quotes. */
function quoted(text: string): string {
  return text.replaceAll("'", String.raw`'\''`)
}
