import type { CommandContext } from './context.ts'

/** Prints the one JSON document of a command that was asked for JSON. */
export function writeJson({ stdout }: CommandContext, document: object): void {
  stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}
