import { runtimeWarning } from '../runtime-floor.ts'
import { ok, warning } from './check.ts'
import type { Findings } from './check.ts'

/** @param version of Node.js, as `process.version` has it */
export function judgeRuntime(version: string): Findings {
  const aged = runtimeWarning(version)
  if (aged === undefined) return ok(`Node.js ${version}`)
  // Two sentences: what is wrong, what to do.
  const [detail = aged, fix = 'Install a newer Node.js'] = aged.split(/(?<=\w)\. /)
  return warning(detail, fix.replace(/\.$/, ''))
}
