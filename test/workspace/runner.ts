import { expect } from 'vitest'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { runCommand, type CommandEnd } from '../../src/workspace/run-command.ts'
import { createTree } from './tree.ts'

type Options = Partial<Parameters<typeof runCommand>[0]>
type Run = (argv: readonly string[], options?: Options) => Promise<CommandEnd>

/** Creates a workspace, and a function that runs a command in it. */
export async function createRunner(): Promise<{ readonly root: string; readonly outside: string; readonly run: Run }> {
  const { root, outside } = await createTree()
  const folder = await openFolder(root)
  const signal = new AbortController().signal
  return {
    root,
    outside,
    run: (argv, options) =>
      runCommand({ folder, argv, signal, timeoutMs: 20_000, maxOutputBytes: 10_000, graceMs: 100, ...options }),
  }
}

/** Runs a command that prints this number of bytes between two short lines. Expects that the start and the end are kept. */
export async function printMuch(run: Run, bytes: number): Promise<void> {
  const script = `echo first; head -c ${bytes} /dev/zero | tr "\\0" x; echo; echo last`
  let streamed = 0
  const end = await run(['sh', '-c', script], {
    timeoutMs: 60_000,
    onOutput: ({ text }) => (streamed += text.length),
  })
  expect(end).toMatchObject({ exitCode: 0, truncated: true, timedOut: false })
  const leftOut = `… ${bytes + 12 - 10_000} bytes left out …`
  expect(end.stdout).toMatch(/^first\nx{4994}\n.*\nx{4994}\nlast\n$/)
  expect(end.stdout).toContain(leftOut)
  expect(streamed).toBe(10_000)
}
