import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { env, platform } from 'node:process'
import { bubblewrapArguments, statusFd } from './bubblewrap-arguments.ts'
import { killGroup } from './kill-group.ts'
import type { Enclosure } from './sandbox.ts'

/** bubblewrap starts in some milliseconds, but the machine may be very busy. Ms. */
const probeMs = 20_000

const folders = ['/usr/bin', '/usr/local/bin', '/bin', '/run/current-system/sw/bin']

/** Finds out by a trial, because kernels, containers and security modules forbid it in many ways. */
export async function probeEnclosure(): Promise<Enclosure> {
  if (platform !== 'linux') {
    return {
      kind: 'none',
      reason: 'Commands can be enclosed only on Linux.',
      fix: 'Run copilot-proxy on Linux, or in a container or a virtual machine that has only the workspace',
    }
  }
  const program = await findBubblewrap()
  if (program === undefined) {
    return {
      kind: 'none',
      reason: 'bubblewrap (bwrap) is not installed.',
      fix: 'Install it, e.g.: sudo apt install bubblewrap, or: sudo dnf install bubblewrap',
    }
  }
  const args = bubblewrapArguments({ argv: ['/bin/sh', '-c', ':'], cwd: '/tmp', mounts: [] })
  const [version, trial] = await Promise.all([run(program, ['--version']), run(program, args)])
  if (trial.exitCode === 0) {
    return { kind: 'bubblewrap', program, version: /\d[\d.]*/.exec(version.text)?.[0] ?? 'of an unknown version' }
  }
  const said = trial.text
    .trim()
    .split('\n')[0]
    ?.replace(/^bwrap: /, '')
    .slice(0, 300)
  return {
    kind: 'none',
    reason: `bubblewrap (${program}) does not work here: ${said === undefined || said === '' ? 'it has no message' : said}.`,
    fix: 'Allow user namespaces to bubblewrap: in a container by its security options, on Ubuntu by an AppArmor profile for bwrap',
  }
}

async function findBubblewrap(): Promise<string | undefined> {
  const ofPath = (env['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder))
  // A workspace whose folder of programs is on PATH must not bring its own.
  for (const folder of [...folders, ...ofPath]) {
    const program = join(folder, 'bwrap')
    if (
      await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return program
  }
  return undefined
}

async function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly exitCode: number | null; readonly text: string }> {
  // bubblewrap starts nothing if it cannot report to its descriptor.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'ignore'], env: {}, detached: true })
  const timer = setTimeout(() => killGroup(child), probeMs)
  let text = ''
  const take = (chunk: Buffer): void => {
    if (text.length < 10_000) text += chunk.toString()
  }
  child.stdout?.on('data', take)
  child.stderr?.on('data', take)
  child.stdio[statusFd]?.on('error', () => {})
  try {
    await once(child, 'close')
    return { exitCode: child.exitCode, text }
  } catch (error) {
    return { exitCode: null, text: error instanceof Error ? error.message : '' }
  } finally {
    clearTimeout(timer)
    killGroup(child)
  }
}
