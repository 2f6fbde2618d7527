'use strict'
const fs = require('node:fs')
const { createRequire, wrapper } = require('node:module')
const { join, sep } = require('node:path')
const { setFlagsFromString } = require('node:v8')
const { Script, constants } = require('node:vm')
const { crc32 } = require('node:zlib')

// Loads the files of dist with code that V8 compiled in an earlier run. Node's own compile cache holds only the functions
// that V8 compiles before a file runs; this one also holds those that ran. Medians of alternating starts (Node 24.21):
//                       start to /healthz   processor time   idle memory   each of the first 300 requests
//   Node's own cache               439 ms           517 ms       93.9 MB                          2665 us
//   the same, new home             517 ms           604 ms       96.7 MB                          2719 us
//   this, new home                 366 ms           423 ms       89.1 MB                          2829 us

const dist = join(__dirname, '../dist')
const requireOther = createRequire(join(dist, 'main.cjs'))
const [head, tail] = wrapper.map((text) => Buffer.from(text))

/** Compiled code fits one build of V8 only. */
const build = `${process.version}-${process.platform}-${process.arch}`

/** The checksums of the source and of the compiled code. V8 checks the length of the source and none of the code. */
const headerBytes = 8

/** @param userDir a folder for compiled code that only the user can write to, if there is one */
module.exports = function loadProgram(userDir) {
  const written = userDir && join(userDir, build)
  // `npm run build` makes the first one, for the first start.
  const dirs = [join(dist, 'code-cache', build), written].filter((dir) => dir && fs.existsSync(dir))
  const modules = new Map()
  const uncached = []

  function load(name) {
    const known = modules.get(name)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    modules.set(name, module)
    // Enough calls of `join` let V8 load its optimising compiler: 5 MB of memory.
    const filename = dist + sep + name
    const source = fs.readFileSync(filename)
    const sum = crc32(source)
    const cachedData = dirs.reduce((found, dir) => found ?? readCode(dir + sep + name, sum), undefined)
    const script = new Script(Buffer.concat([head, source, tail]).latin1Slice(), {
      filename,
      cachedData,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    })
    if (cachedData === undefined || script.cachedDataRejected) uncached.push({ name, sum, script })
    const requireAny = (id) => (id.startsWith('./') ? load(id.slice(2)) : requireOther(id))
    script.runInThisContext().call(module.exports, module.exports, requireAny, module, filename, dist)
    return module.exports
  }

  hideWarning('USE_MAIN_CONTEXT_DEFAULT_LOADER')
  load('main.cjs')
  process.on('exit', () => {
    if (!written || uncached.length === 0) return
    try {
      // V8 refuses compiled code of other flags, and the daemon changes this one at its first request.
      setFlagsFromString('--semi-space-growth-factor=1')
      fs.mkdirSync(written, { recursive: true, mode: 0o700 })
      for (const { name, sum, script } of uncached) writeCode(join(written, name), sum, script.createCachedData())
    } catch {
      // The next start takes longer, and nothing else.
    }
  })
}

/** Node writes it to the terminal of whoever runs the program, at the first `import()` of a package. */
function hideWarning(text) {
  const { emitWarning } = process
  process.emitWarning = (warning, ...others) => {
    if (!String(warning).includes(text)) emitWarning.call(process, warning, ...others)
  }
}

/** Undefined if there is none, or it is damaged or of another source. */
function readCode(file, sourceSum) {
  try {
    const bytes = fs.readFileSync(file)
    const code = bytes.subarray(headerBytes)
    return bytes.readUInt32LE(0) === sourceSum && bytes.readUInt32LE(4) === crc32(code) ? code : undefined
  } catch {
    return undefined
  }
}

function writeCode(file, sourceSum, code) {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32LE(sourceSum, 0)
  header.writeUInt32LE(crc32(code), 4)
  const unfinished = `${file}.${process.pid}`
  try {
    fs.writeFileSync(unfinished, Buffer.concat([header, code]), { mode: 0o600 })
    fs.renameSync(unfinished, file)
  } catch (error) {
    // On a full disk, each start would leave one.
    fs.rmSync(unfinished, { force: true })
    throw error
  }
}
