import nodeProcess from 'node:process'
import type { DatabaseSync } from 'node:sqlite'

/**
 * Node's own SQLite, loaded when it is first needed: it takes about 3 MB. Undefined in a Node that was built without.
 * Some lines of Node call it experimental, on stderr, each time it is loaded; that one warning is left out. Loading is
 * synchronous, so that no other can be meant.
 */
export function loadSqlite(): typeof DatabaseSync | undefined {
  const emitWarning = nodeProcess.emitWarning.bind(nodeProcess)
  nodeProcess.emitWarning = () => {}
  try {
    return nodeProcess.getBuiltinModule('node:sqlite')?.DatabaseSync
  } finally {
    nodeProcess.emitWarning = emitWarning
  }
}
