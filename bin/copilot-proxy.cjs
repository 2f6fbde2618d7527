#!/usr/bin/env node
// Old syntax on purpose: this file must run, and say what to do, on whatever Node someone has.
/* oxlint-disable no-var, no-unused-vars, prefer-template, import/no-unassigned-import -- as above */
var floor = require('../package.json').engines.node.replace('>=', '')
var needed = floor.split('.').map(Number)
var running = process.versions.node.split('.').map(Number)
var isOld = running[0] < needed[0] || (running[0] === needed[0] && running[1] < (needed[1] || 0))

if (isOld) {
  var advice = [
    'copilot-proxy needs Node.js ' + floor + ' or newer. This is Node.js ' + process.version + '.',
    'Install Node.js 24 from https://nodejs.org or with a version manager (nvm install 24), and run the command again.',
    'In a clone of copilot-proxy, any Node.js from version 20 is enough: npm ci && npm start',
  ]
  process.stderr.write(advice.join('\n') + '\n')
  process.exitCode = 1
} else {
  // Three settings for memory, measured on Linux with Node 24.21. V8's new space keeps its first size until the first
  // request: 90 MB idle instead of 109. The heap may grow to three times its size between two full collections: 8 MB of
  // history cost a third less processor time than by V8's own rule. And undici's HTTP parser stays on WebAssembly's
  // baseline compiler until it has parsed a lot: compiling it again took 9 MB.
  require('v8').setFlagsFromString('--semi-space-growth-factor=1')
  require('v8').setFlagsFromString('--heap-growing-percent=200')
  require('v8').setFlagsFromString('--wasm-tiering-budget=1300000000')
  // The single-file program has its compiled code inside. For the package, a folder of the user's own keeps it between
  // runs: in a shared folder, somebody else could put code that this program would run. Node's variable turns that off.
  if (require('node:sea').isSea()) require('../dist/main.cjs')
  else require('./load-program.cjs')(process.env.NODE_DISABLE_COMPILE_CACHE ? undefined : cacheDir())
}

// Undefined where this user has no folder for it; the start is a little slower then, and nothing else.
function cacheDir() {
  var path = require('path')
  var env = process.env
  var home = env.COPILOT_PROXY_HOME
  // A relative one is refused later, with a sentence; until then nothing is put into whatever folder this runs in.
  if (home) return path.isAbsolute(home) ? path.join(home, 'cache') : undefined
  if (path.isAbsolute(env.XDG_CACHE_HOME || '')) return path.join(env.XDG_CACHE_HOME, 'copilot-proxy')
  try {
    var userHome = require('os').homedir()
    return path.isAbsolute(userHome) ? path.join(userHome, '.cache', 'copilot-proxy') : undefined
  } catch (error) {
    return undefined
  }
}
