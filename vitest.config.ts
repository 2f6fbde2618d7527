import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // A golden file that is missing is a failure, not something to write down and pass: `vitest -u` writes them.
    update: 'none',
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'text'],
    },
  },
})
