import { expect } from 'vitest'
import { type Flag, loadConfig, type LoadResult, type Sources } from '../../src/config/load.ts'
import { formatConfigError } from '../../src/config/problem.ts'
import type { Config } from '../../src/config/schema.ts'

interface Given {
  readonly file?: string
  readonly env?: Readonly<Record<string, string>>
  readonly flags?: readonly Flag[]
}

export function load({ file, env = {}, flags = [] }: Given = {}): LoadResult {
  return loadConfig({ file: file === undefined ? undefined : { path: 'config.yaml', text: file }, env, flags })
}

export function loaded(given: Given = {}): { readonly config: Config; readonly sources: Sources } {
  const result = load(given)
  if (!result.ok) throw new Error(`refused:\n${formatConfigError(result.error)}`)
  return { config: result.value, sources: result.sources }
}

/** The error text of settings that must be refused. */
export function refused(given: Given): string {
  const result = load(given)
  expect(result.ok).toBe(false)
  return result.ok ? '' : formatConfigError(result.error)
}
