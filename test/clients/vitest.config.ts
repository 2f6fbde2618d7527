import { defineConfig } from 'vitest/config'

/** Started by run.ts, in a network namespace. */
export default defineConfig({
  test: {
    include: ['test/clients/**/*.client.ts'],
    setupFiles: ['test/setup.ts', 'test/clients/loopback-only.ts'],
    // A client takes seconds to start, and they would only take the processors from each other.
    fileParallelism: false,
    testTimeout: 90_000,
    reporters: ['verbose'],
  },
})
