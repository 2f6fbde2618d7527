import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'text'],
    },
  },
})
