import { execFile } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { builtModules } from './from-build.ts'

const root = join(import.meta.dirname, '..')

/** Tests of the command line run the program as it ships: it starts in less than half the time that its sources take. */
export async function setup(project: TestProject): Promise<void> {
  await buildAll()
  project.onTestsRerun(buildAll)
}

async function buildAll(): Promise<void> {
  await buildIfChanged('build', 'dist/main.cjs')
  await buildIfChanged('build:modules', join(builtModules, 'main.mjs'))
}

/** Runs the npm script unless its output is newer than the sources. */
export async function buildIfChanged(script: string, output: string): Promise<void> {
  const built = join(root, output)
  const sources = globSync(
    '{*.json,rolldown.config.ts,test/built-modules.config.ts,bin/*,{release,src}/**/*.ts,src/page/static/*}',
    { cwd: root },
  )
  const changedMs = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs))
  if (existsSync(built) && statSync(built).mtimeMs > changedMs) return
  await promisify(execFile)('npm', ['run', script], { cwd: root })
}
