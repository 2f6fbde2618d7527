import type { Command, Help, Option } from 'commander'
import { logFormats, logLevels } from '../../config/schema.ts'

/** A command, and the words that may follow it. */
export interface CommandNode {
  /** The words after the program's name, e.g. `config show`; '' for the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly OptionWords[]
  /** By position; empty where any word is valid. */
  readonly argumentChoices: readonly (readonly string[])[]
}

interface Word {
  readonly word: string
  /** One line of any characters. */
  readonly summary: string
}

export interface OptionWords {
  /** `--follow`, and `-f` where it exists. */
  readonly words: readonly [string, ...string[]]
  readonly summary: string
  /** The option's value; undefined for a flag. */
  readonly value: OptionValue | undefined
}

type OptionValue =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'anything' }

/** Values that commander does not know, by long option: the configuration or a command validates them. */
const knownChoices: Readonly<Record<string, readonly string[]>> = {
  '--log-level': logLevels,
  '--log-format': logFormats,
}
/** By the name of an argument. */
const knownArguments: Readonly<Record<string, readonly string[]>> = { provider: ['copilot', 'codex'] }

/**
 * The program and every visible command below it.
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
