import type { CommandNode, OptionWords } from './command-tree.ts'

/**
 * A completion script for fish (complete(1)): a function finds the command among the words, and each line states where
 * it applies.
 */
export function fishCompletion(nodes: readonly CommandNode[]): string {
  const valued = [
    ...new Set(nodes.flatMap(({ options }) => options.filter(({ value }) => value).flatMap(({ words }) => words))),
  ]
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
    ...commands.map(({ word, summary }) => `${at} 0" -a ${word} -d ${quoted(summary)}`),
    ...argumentChoices.flatMap((choices, position) =>
      choices.length === 0 ? [] : [`${at} ${position}" -a ${quoted(choices.join(' '))}`],
    ),
    ...options.map((option) => `${at}" ${optionText(option)}`),
  ]
}

function optionText({ words, summary, value }: OptionWords): string {
  const names = words.map((word) => (word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`)).join(' ')
  return `${names}${valueText(value)} -d ${quoted(summary)}`
}

function valueText(value: OptionWords['value']): string {
  switch (value?.kind) {
    case undefined:
      return ''
    case 'choices':
      return ` -x -a ${quoted(value.choices.join(' '))}`
    case 'file':
      return ' -r -F'
    case 'anything':
      return ' -x'
  }
}

/** In single quotes, where only backslash and quote are special. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
