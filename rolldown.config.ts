import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'rolldown'
import type { Plugin } from 'rolldown'

// What ships is one program with its packages inside: it runs on the very versions that were tested, installs nothing else,
// and starts in two thirds of the time that a few hundred files take. Only the optional keychain stays outside, being
// machine code.

/** A text with one character beyond Latin-1 takes two bytes for each of its characters in V8. */
function ascii(): Plugin {
  return {
    name: 'ascii',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue
        file.code = file.code.replaceAll(
          /[^\0-\x7f]/g,
          (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
      }
    },
  }
}

/** The licences of what is inside ask to go with it. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const packages = new Set<string>()
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue
        for (const id of file.moduleIds) {
          const found = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]
          if (found !== undefined) packages.add(found)
        }
      }
      const texts = [...packages].toSorted().map((dir) => `${nameOf(dir)}\n\n${licenceOf(dir)}`)
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: texts.join(`\n${'-'.repeat(80)}\n\n`) })
    },
  }
}

function nameOf(dir: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  return `${name} ${version} (${license})`
}

function licenceOf(dir: string): string {
  const file = readdirSync(dir).find((name) => /^licen[cs]e/i.test(name))
  return file === undefined ? '' : readFileSync(join(dir, file), 'utf8')
}

export default defineConfig({
  input: { main: 'src/main.ts', 'keychain-helper': 'src/auth/keychain-helper.ts' },
  platform: 'node',
  external: [/^@napi-rs\//],
  plugins: [ascii(), licences()],
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'esm',
    // Names stay, for stacks. Comments and spaces go: V8 keeps a program's text in memory.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    hashCharacters: 'hex',
  },
})
