import { dirname, join, relative, resolve } from 'node:path'
import type { Plugin } from 'vitest/config'

const root = join(import.meta.dirname, '..')

/** The output of built-modules.config.ts. Below the root of the project, so that modules find their packages. */
export const builtModules = 'node_modules/.cache/built-modules'

/** Gives tests the modules of the build in place of their sources. */
export const fromBuild: Plugin = {
  name: 'from-build',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.') || !source.endsWith('.ts')) return undefined
    const path = relative(join(root, 'src'), resolve(dirname(importer), source))
    return path.startsWith('..') ? undefined : join(root, builtModules, path.replace(/\.ts$/, '.mjs'))
  },
}
