import { fileURLToPath } from 'node:url'
import type { Plugin, RolldownOptions } from 'rolldown'
import { bundledPackages, type Part } from './release/bundled-packages.ts'
import { pageSources } from './src/page/page-sources.ts'

// What ships is one program with its packages inside: it runs on the very versions that were tested, installs nothing else,
// and starts in two thirds of the time that a few hundred files take. Only optional packages stay outside: the keychain and
// ripgrep, which are machine code, grammars and prettier.

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

const undici = fileURLToPath(new URL('.', import.meta.resolve('undici')))

/** The id of the module that replaces undici's index. Its name becomes that of the output file. */
const entryId = `${undici}undici.js`

/** Packages that Fastify loads for JSON Schemas of routes and for calls without a network; this program has neither. */
const unusedPackages = new Set(['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'])
const emptyId = '\0empty'

/** Text in files of packages, and what replaces it. */
const replacements = [
  // HTTP/2 of servers.
  { file: 'fastify/lib/server.js', from: /require\('node:http2'\)/g, to: '({})' },
  // HTTP/2 is loaded when an upstream speaks it.
  {
    file: 'undici/lib/dispatcher/client.js',
    from: /connectH2 = (require\('.*client-h2.js'\))/g,
    to: 'connectH2 = (...args) => $1(...args)',
  },
  // The second HTTP parser, which Node leaves out in this way too.
  { file: 'undici/lib/dispatcher/client-h1.js', from: /typeof esbuildDetection === 'undefined'/g, to: 'false' },
]

/**
 * Leaves out the parts of packages above, and undici's mocks, caches, interceptors and WebSockets. This program never uses
 * them, and loading them took 5 MB of memory at each start (Node 24.21).
 */
function unused(): Plugin {
  const entry = `
    import Agent from '${undici}lib/dispatcher/agent.js'
    import Client from '${undici}lib/dispatcher/client.js'
    import Dispatcher from '${undici}lib/dispatcher/dispatcher.js'
    import ProxyAgent from '${undici}lib/dispatcher/proxy-agent.js'
    import Pool from '${undici}lib/dispatcher/pool.js'
    import api from '${undici}lib/api/index.js'
    import buildConnector from '${undici}lib/core/connect.js'
    import errors from '${undici}lib/core/errors.js'
    import global from '${undici}lib/global.js'
    import web from '${undici}lib/web/fetch/index.js'
    import { FormData } from '${undici}lib/web/fetch/formdata.js'
    import { Headers } from '${undici}lib/web/fetch/headers.js'
    import { Request } from '${undici}lib/web/fetch/request.js'
    import { Response } from '${undici}lib/web/fetch/response.js'
    Object.assign(Dispatcher.prototype, api)
    export { Agent, Client, Dispatcher, Pool, ProxyAgent, buildConnector, errors }
    export const { setGlobalDispatcher } = global
    export function install() {
      Object.assign(globalThis, { fetch: web.fetch, FormData, Headers, Request, Response })
    }
  `
  return {
    name: 'unused',
    resolveId(id) {
      if (id === 'undici') return entryId
      return unusedPackages.has(id) ? emptyId : undefined
    },
    load(id) {
      if (id === entryId) return entry
      return id === emptyId ? '' : undefined
    },
    transform(code, id) {
      const replacement = replacements.find(({ file }) => id.replaceAll('\\', '/').endsWith(`/${file}`))
      if (replacement === undefined) return undefined
      const { file, from, to } = replacement
      if (code.search(from) === -1) throw new Error(`${file} has changed: it no longer contains ${from.source}`)
      return code.replaceAll(from, to)
    },
  }
}

/** Puts the files of the page into the program, so that it is found in a package, an image and a single file alike. */
function embeddedPage(): Plugin {
  return {
    name: 'embedded-page',
    load(id) {
      if (!id.replaceAll('\\', '/').endsWith('/src/page/page-sources.ts')) return undefined
      return `export const pageSources = new Map(${JSON.stringify([...pageSources])})`
    },
  }
}

/** @param parts what the output holds besides packages */
export function toPlugins(parts: readonly Part[]): Plugin[] {
  return [unused(), embeddedPage(), ascii(), bundledPackages(parts)]
}

export default {
  input: {
    main: 'src/main.ts',
    'keychain-helper': 'src/auth/records/keychain-helper.ts',
    'code-worker': 'src/workspace/code-worker.ts',
    'code-watchdog': 'src/workspace/code-watchdog.ts',
  },
  platform: 'node',
  // Its `main` is a UMD file, whose `require` calls cannot be bundled.
  resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
  external: [/^@napi-rs\//, /^@vscode\//, /^prettier$/],
  plugins: toPlugins([]),
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'cjs',
    // Names stay, for stacks. Comments and spaces go: V8 keeps a program's text in memory.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
  },
} satisfies RolldownOptions
