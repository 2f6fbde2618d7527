import { runCommand } from '../workspace/run-command.ts'
import type { FilterContext } from '../workspace/run-filter.ts'
import type { ToolContext } from './tool.ts'

/** Returns the context of a filter: a program of the workspace that reads a text and writes a new one. */
export function filterContext({ folder, authorize, signal, limits }: ToolContext): FilterContext {
  const { maxFileBytes, timeoutMs } = limits
  return {
    authorize,
    signal,
    // A formatted file may be larger than the original.
    run: (argv, options) =>
      runCommand({ folder, argv, timeoutMs, maxOutputBytes: 2 * maxFileBytes, access: 'read', ...options }),
  }
}
