import { execFile } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

const root = join(import.meta.dirname, '..')

/** Tests of the command line run the program as it ships: it starts in less than half the time that its sources take. */
export async function setup(project: TestProject): Promise<void> {
  await buildIfChanged()
  project.onTestsRerun(buildIfChanged)
}

async function buildIfChanged(): Promise<void> {
  const built = join(root, 'dist/main.js')
  const sources = ['rolldown.config.ts', 'package-lock.json', ...globSync('src/**/*.ts', { cwd: root })]
  const changedMs = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs))
  if (existsSync(built) && statSync(built).mtimeMs > changedMs) return
  await promisify(execFile)('npm', ['run', 'build'], { cwd: root })
}
