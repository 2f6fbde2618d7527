import type { Command } from 'commander'
import { bashCompletion } from './completion/bash.ts'
import { toCommandTree } from './completion/command-tree.ts'
import { fishCompletion } from './completion/fish.ts'
import { zshCompletion } from './completion/zsh.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import { serveOptions } from './root-command.ts'

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const
export type Shell = keyof typeof shells

/** Prints the script that completes this very program's commands and options in a shell. */
export function completion(context: CommandContext, shell: Shell, program: Command): ExitCode {
  context.stdout.write(shells[shell](toCommandTree(program, serveOptions())))
  return exitCode.done
}
