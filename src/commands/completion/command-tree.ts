import type { Command, Help, Option } from 'commander'
import { logFormats, logLevels } from '../../config/schema.ts'

/** What can be typed after the words that lead to a command. */
export interface CommandNode {
  /** The words after the program's name, e.g. `config show`; '' for the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly OptionWords[]
  /** Of the arguments, in their order; empty where anything goes. */
  readonly argumentChoices: readonly (readonly string[])[]
}

interface Word {
  readonly word: string
  /** One line; may hold any character but a line break. */
  readonly summary: string
}

export interface OptionWords {
  /** `--follow`, and `-f` where it has one. */
  readonly words: readonly [string, ...string[]]
  readonly summary: string
  /** What may follow; undefined for an option without a value. */
  readonly value: OptionValue | undefined
}

type OptionValue =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'anything' }

/** Values that the configuration or a command checks, and commander therefore does not know of. By long option. */
const knownChoices: Readonly<Record<string, readonly string[]>> = {
  '--log-level': logLevels,
  '--log-format': logFormats,
}
/** By the name of an argument. */
const knownArguments: Readonly<Record<string, readonly string[]>> = { provider: ['copilot', 'codex'] }

/**
 * The program and every command below it, hidden ones left out.
 * @param unnamed options that the program takes where no command is named
 */
export function toCommandTree(program: Command, unnamed: readonly Option[] = []): readonly CommandNode[] {
  const help = program.createHelp()
  const walk = (command: Command, path: string): readonly CommandNode[] => {
    const children = help.visibleCommands(command)
    return [
      toNode(command, path, help, program, unnamed),
      ...children.flatMap((child) => walk(child, path === '' ? child.name() : `${path} ${child.name()}`)),
    ]
  }
  return walk(program, '')
}

function toNode(command: Command, path: string, help: Help, program: Command, unnamed: readonly Option[]): CommandNode {
  const isRoot = command.parent === null
  const topics = program.commands.map((topic) => topic.name())
  const others = isRoot ? unnamed.filter((option) => !option.hidden) : help.visibleGlobalOptions(command)
  return {
    path,
    commands: help.visibleCommands(command).map((child) => ({ word: child.name(), summary: child.description() })),
    options: [...help.visibleOptions(command), ...others].flatMap((option) => {
      const [first, ...rest] = [option.long, option.short].filter((word) => word !== undefined)
      if (first === undefined) return []
      const choices = option.argChoices ?? knownChoices[first]
      const takesValue = option.required || option.optional
      return [
        {
          words: [first, ...rest] as const,
          summary: option.description,
          value: takesValue ? toValue(option.flags, choices) : undefined,
        },
      ]
    }),
    argumentChoices: command.registeredArguments.map(
      (argument) => argument.argChoices ?? knownArguments[argument.name()] ?? (path === 'help' ? topics : []),
    ),
  }
}

function toValue(flags: string, choices: readonly string[] | undefined): OptionValue {
  if (choices !== undefined) return { kind: 'choices', choices }
  return /[<[](file|path)[>\]]/.test(flags) ? { kind: 'file' } : { kind: 'anything' }
}
