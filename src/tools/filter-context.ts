import { runCommand } from '../workspace/run-command.ts'
import type { FilterContext } from '../workspace/run-filter.ts'
import type { ToolContext } from './tool.ts'

/** For tools that let a program of the workspace rewrite a text. */
export function filterContext({ session: { folder }, authorize, signal, limits }: ToolContext): FilterContext {
  const { maxFileBytes, timeoutMs } = limits
  return {
    authorize,
    signal,
    // A formatted file may be larger than the file.
    run: (argv, options) => runCommand({ folder, argv, timeoutMs, maxOutputBytes: 2 * maxFileBytes, ...options }),
  }
}
