import { defineConfig } from 'vitest/config'

/** Started by run.ts, in a network namespace. */
export default defineConfig({
  test: {
    include: ['test/clients/official/*.official.ts'],
    setupFiles: ['test/setup.ts', 'test/clients/loopback-only.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    reporters: ['verbose'],
  },
})
