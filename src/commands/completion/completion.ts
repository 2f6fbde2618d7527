import type { Command, Option } from 'commander'
import { exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import { bashCompletion } from './bash.ts'
import { toCommandTree } from './command-tree.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const
export type Shell = keyof typeof shells

/**
 * Prints the script that completes the commands and options of `program`.
 * @param unnamed options that the program takes where no command is named
 */
export function completion(
  context: CommandContext,
  shell: Shell,
  program: Command,
  unnamed: readonly Option[],
): ExitCode {
  context.stdout.write(shells[shell](toCommandTree(program, unnamed)))
  return exitCode.done
}
