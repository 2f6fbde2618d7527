import { defineConfig } from 'vitest/config'

/** `npm run test:soak`: load, faults and fuzzing, each bounded in count and time. Linux, for /proc. */
export default defineConfig({
  test: {
    include: ['test/soak/**/*.soak.ts'],
    globalSetup: ['test/build-program.ts'],
    setupFiles: ['test/setup.ts'],
    // Each takes all the processors there are; two at once would measure each other.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 60_000,
    reporters: ['verbose'],
  },
})
