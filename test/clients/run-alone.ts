import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Ends this process, and says why no test has run. */
export function skip(reason: string): never {
  console.log(`Skipped: ${reason}`)
  process.exit(0)
}

/**
 * Runs the tests of a vitest configuration in a network namespace of its own, in which loopback is the only network, with the
 * arguments of this process. Then ends this process.
 */
export function runAlone(config: string): never {
  const alone = ['-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
  const probe = spawnSync('unshare', [...alone, 'true'], { encoding: 'utf8' })
  if (probe.error !== undefined || probe.status !== 0) {
    const detail = probe.error?.message ?? probe.stderr.trim()
    skip(`this machine gives no network namespace (unshare -rn; ip link set lo up), which these tests need: ${detail}`)
  }

  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', config]
  const { status } = spawnSync('unshare', [...alone, process.execPath, ...vitest, ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
}
