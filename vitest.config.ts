import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // A guard against hanging and no measure: a machine may be busy with other things.
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    include: ['test/**/*.test.ts'],
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
