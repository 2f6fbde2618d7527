import { defineConfig } from 'vitest/config'

/** The page in a real browser; started by run.ts. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.browser.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['verbose'],
  },
})
