import { isAbsolute, join } from 'node:path'
import type { CommandContext } from './context.ts'

/**
 * The folder of Codex CLI, whether or not it exists (docs/codex-wire.md, "Stored login of Codex CLI"). Undefined where
 * it is not named and there is no home folder, or no working directory for a relative name.
 */
export function findCodexHome({ env, homeDir, workingDir }: CommandContext): string | undefined {
  const named = env['CODEX_HOME'] ?? ''
  if (isAbsolute(named)) return named
  try {
    const start = named === '' ? homeDir() : workingDir()
    return isAbsolute(start) ? join(start, named === '' ? '.codex' : named) : undefined
  } catch {
    return undefined
  }
}
