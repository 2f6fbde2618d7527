import type { PermissionFinding } from '../auth/inspect-permissions.ts'
import { findingsOr, ok } from './check.ts'
import type { Finding, Findings } from './check.ts'

export interface FileFacts {
  readonly authDir: string
  /** Of the folder of the logins and what is in it. */
  readonly logins: readonly PermissionFinding[]
  /** The configuration file that holds a key and is open to others; undefined where that is not so. */
  readonly exposedConfig: { readonly detail: string; readonly command: string } | undefined
  /** `auth.strict-permissions`: what is only told otherwise is refused. */
  readonly strict: boolean
}

/** Whether the files that hold credentials are this user's alone. */
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
