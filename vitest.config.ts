import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Their `vi.mock` would reach the other files of a worker, or come too late for a module that is loaded already. */
const mocking = ['http/api-keys', 'workspace/swapped-folder', 'workspace/ripgrep'].map((name) => `test/${name}.test.ts`)

export default defineConfig({
  test: {
    // A guard against hanging and no measure: a machine may be busy with other things.
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    // Files of a worker share modules: loading them anew for each file took a third of the suite's time.
    projects: [
      { extends: true, test: { name: 'shared', isolate: false, include: ['test/**/*.test.ts'], exclude: mocking } },
      { extends: true, test: { name: 'mocking', include: mocking } },
    ],
    // Processes that tests start from sources load them in half the time.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled-tests') },
    globalSetup: ['test/build-program.ts'],
    setupFiles: ['test/setup.ts'],
    // Many tests wait for a process or a deadline most of their time: more of them at once than there are cores.
    maxWorkers: Math.max(3, availableParallelism()),
    // A golden file that is missing is a failure, not something to write down and pass: `vitest -u` writes them.
    update: 'none',
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'text'],
    },
  },
})
