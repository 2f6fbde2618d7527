import { formatConfigError, formatSource } from '../config/problem.ts'
import type { Problem } from '../config/problem.ts'
import { failed, findingsOr, ok } from './check.ts'
import type { Findings } from './check.ts'
import { helpfulCommands } from './helpful-command.ts'

export type ConfigState =
  | { readonly kind: 'valid'; readonly path: string; readonly hasFile: boolean }
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[] }
  /** It is not known where the files are. A sentence. */
  | { readonly kind: 'nowhere'; readonly problem: string }

export function judgeConfig(state: ConfigState, platform: NodeJS.Platform): Findings {
  switch (state.kind) {
    case 'valid':
      return ok(state.hasFile ? `${state.path} is valid` : `There is no file at ${state.path}; defaults are in force`)
    case 'invalid':
      return findingsOr(
        state.problems.map((problem) => ({
          status: 'failed',
          detail: formatConfigError({ problems: [problem] }),
          fix: `Correct ${problem.key === '' ? 'that' : problem.key} in ${formatSource(problem.source)}, then run: copilot-proxy config check`,
        })),
        ok('Valid'),
      )
    case 'nowhere':
      return failed(
        state.problem,
        `Name a folder: ${helpfulCommands(platform).setVariable('COPILOT_PROXY_HOME', '/ABSOLUTE/PATH')}`,
      )
  }
}
