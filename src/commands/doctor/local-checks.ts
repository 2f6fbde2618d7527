import type { PermissionFinding } from '../../auth/records/inspect-permissions.ts'
import { formatConfigError, formatSource } from '../../config/problem.ts'
import type { Problem } from '../../config/problem.ts'
import { runtimeWarning } from '../serve/start-checks.ts'
import { failed, findingsOr, ok, warning } from './check.ts'
import type { Findings, Finding } from './check.ts'
import { helpfulCommands } from './network-checks.ts'

export type ConfigState =
  | { readonly kind: 'valid'; readonly path: string; readonly hasFile: boolean }
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[] }
  /** The paths are unknown. A sentence. */
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

export interface FileFacts {
  readonly authDir: string
  /** Permissions of the folder of logins and its files. */
  readonly logins: readonly PermissionFinding[]
  /** A configuration file with a key that other users can read. */
  readonly exposedConfig: { readonly detail: string; readonly command: string } | undefined
  /** `auth.strict-permissions`: warnings become failures. */
  readonly strict: boolean
}

/** Whether only this user can access files with credentials. */
export function judgeFiles({ authDir, logins, exposedConfig, strict }: FileFacts): Findings {
  const looseStatus = strict ? 'failed' : 'warning'
  const findings = logins.map(({ problem, detail, fix }): Finding => ({
    status: problem === 'open_to_others' ? looseStatus : 'failed',
    detail,
    fix: `Run: ${fix}`,
  }))
  const ofConfig: readonly Finding[] =
    exposedConfig === undefined
      ? []
      : [{ status: looseStatus, detail: exposedConfig.detail, fix: `Run: ${exposedConfig.command}` }]
  return findingsOr([...findings, ...ofConfig], ok(`${authDir} is open to nobody else`))
}

/** @param version as `process.version` */
export function judgeRuntime(version: string): Findings {
  const aged = runtimeWarning(version)
  if (aged === undefined) return ok(`Node.js ${version}`)
  // The problem and the remedy are one sentence each.
  const [detail = aged, fix = 'Install a newer Node.js'] = aged.split(/(?<=\w)\. /)
  return warning(detail, fix.replace(/\.$/, ''))
}
