import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { fromBuild } from './test/from-build.ts'
import { closingLine } from './test/closing-line.ts'
import { isThorough } from './test/thorough.ts'

/** Their `vi.mock` would reach the other files of a worker, or come too late for a module that is loaded already. */
const mocking = ['http/access/api-keys', 'workspace/swapped-folder', 'workspace/ripgrep'].map(
  (name) => `test/${name}.test.ts`,
)

/** Tests of configuration and commands. */
const builtToo = ['test/{config,commands}/**/*.test.ts']

const fromSource: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'from source',
    isolate: false,
    include: ['process', 'serve', 'login', 'doctor'].map((name) => `test/cli/${name}.test.ts`),
    env: { COPILOT_PROXY_TEST_PROGRAM: 'src/main.ts' },
  },
}

/** On Linux a folder in memory, if it has room and may have programs: a disk takes milliseconds to sync a file. */
function temporaryFolder(): string {
  const folder = '/dev/shm'
  if (process.env['TMPDIR'] !== undefined || !existsSync(folder)) return tmpdir()
  const { bavail, bsize } = statfsSync(folder)
  const mount = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === folder)
  return bavail * bsize > 2 ** 31 && mount?.includes('noexec') === false ? folder : tmpdir()
}

export default defineConfig({
  test: {
    // A guard against hanging and no measure: a machine may be busy with other things.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // Files of a worker share modules: loading them anew for each file took a third of the suite's time.
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...mocking, ...(isThorough ? [] : builtToo), '**/node_modules/**'],
        },
      },
      { extends: true, test: { name: 'mocking', include: mocking } },
      // What ships is not what the sources say if the bundler takes a call for superfluous: configuration and commands run as
      // they are built. A thorough run has their sources and the program's too.
      {
        extends: true,
        plugins: [fromBuild],
        test: { name: 'built', isolate: false, include: builtToo },
      },
      // A process loads the sources slowly.
      ...(isThorough ? [fromSource] : []),
    ],
    env: {
      TMPDIR: temporaryFolder(),
      // Processes that tests start from sources load them in half the time.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled-tests'),
    },
    globalSetup: ['test/build-program.ts'],
    setupFiles: ['test/setup.ts'],
    reporters: ['default', closingLine],
    // Many tests wait for a process or a deadline most of their time: more of them at once than there are cores.
    maxWorkers: Math.max(4, availableParallelism()),
    // A golden file that is missing is a failure, not something to write down and pass: `vitest -u` writes them.
    update: 'none',
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'text'],
    },
  },
})
