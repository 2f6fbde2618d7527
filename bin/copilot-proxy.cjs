#!/usr/bin/env node
// Old syntax on purpose: this file must run, and say its one sentence, on whatever Node someone has.
/* oxlint-disable no-var, prefer-template, import/no-unassigned-import -- as above */
var floor = require('../package.json').engines.node.replace('>=', '')
var needed = floor.split('.').map(Number)
var running = process.versions.node.split('.').map(Number)
var isOld = running[0] < needed[0] || (running[0] === needed[0] && running[1] < (needed[1] || 0))

if (isOld) {
  process.stderr.write('copilot-proxy needs Node.js ' + floor + ' or newer, and this is ' + process.version + '.\n')
  process.exitCode = 1
} else {
  // Loading the program lets V8's nursery grow to 16 MB, which an idle daemon then keeps. So it may grow only after the
  // start, when there is load. And undici's HTTP parser stays on WebAssembly's baseline compiler until it has parsed a
  // lot: compiling it again takes 9 MB. Idle memory on Linux: 112 MB without these lines, 92 MB with them.
  require('v8').setFlagsFromString('--semi-space-growth-factor=1')
  require('v8').setFlagsFromString('--wasm-tiering-budget=1300000000')
  // Compiled code is kept between runs, which makes the start about a fifth faster. In a folder of the user's own: Node's
  // default is the shared temporary folder, where somebody else could put code that this program would run.
  require('module').enableCompileCache(cacheDir())
  // An ES module, which every Node that comes this far can require.
  require('../dist/main.js')
}

function cacheDir() {
  var path = require('path')
  var env = process.env
  if (env.COPILOT_PROXY_HOME) return path.join(env.COPILOT_PROXY_HOME, 'cache')
  var base = path.isAbsolute(env.XDG_CACHE_HOME || '')
    ? env.XDG_CACHE_HOME
    : path.join(require('os').homedir(), '.cache')
  return path.join(base, 'copilot-proxy')
}
