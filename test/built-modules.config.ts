import { globSync } from 'node:fs'
import type { RolldownOptions } from 'rolldown'
import program from '../rolldown.config.ts'

/** Each module by itself, as the bundler changes it for the program: for tests that import modules of the build. */
export default {
  ...program,
  input: globSync('src/**/*.ts'),
  external: (id) => !/^[./]/.test(id) || id.endsWith('.json'),
  plugins: [],
  output: {
    ...program.output,
    dir: 'node_modules/.cache/built-modules',
    format: 'esm',
    preserveModules: true,
    preserveModulesRoot: 'src',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
  },
} satisfies RolldownOptions
